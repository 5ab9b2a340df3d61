/** `GET api/v1/lock?name=`: one lock with its line and its last hour. Only the line is read from Redis, by the library. */
import type { InspectedLine, Locks } from 'holdfast';
import type { LockDetail, TicketView } from '../api/types.ts';
import type { Sampler } from '../sampling/sampler.ts';
import type { PageReads } from './page-reads.ts';

interface ReadLine {
  readonly at: number;
  readonly waiters: number;
  readonly tickets: readonly TicketView[];
}

export class LockDetails {
  readonly #sampler: Sampler;
  readonly #locks: Locks;
  readonly #reads: PageReads;

  constructor(sampler: Sampler, locks: Locks, reads: PageReads) {
    this.#sampler = sampler;
    this.#locks = locks;
    this.#reads = reads;
  }

  async read(name: string): Promise<LockDetail> {
    const { picture } = this.#sampler;
    // Who may not read lines, or asks while Redis is away, sees the rest.
    const read = (): Promise<ReadLine | null> => this.#readLine(name).catch(() => null);
    const reading = this.#reads.ask({ kind: 'line', what: name, calls: 1, read });
    // Over the bound of reads a name does not get into the fast lane of looks either: it would be there instead of a late lock.
    if (reading !== null) this.#sampler.open(name);
    const line = await reading;
    const row = picture.rows.get(name) ?? null;
    const tickets = line?.tickets ?? [];
    return {
      row,
      line: tickets,
      lineLength: Math.max(line?.waiters ?? row?.waiting ?? 0, tickets.length),
      lineAt: line?.at ?? null,
      holds: picture.holdsOf(name),
      reach: picture.reach,
    };
  }

  async #readLine(name: string): Promise<ReadLine> {
    const found = await this.#locks.inspect(name);
    const at = this.#sampler.now();
    if (found === null || found.kind === 'other') return { at, waiters: 0, tickets: [] };
    return { at, waiters: found.waiters, tickets: found.line.map((waiter) => this.#view(waiter, at)) };
  }

  #view(waiter: InspectedLine['line'][number], now: number): TicketView {
    const { app, host, pid } = this.#sampler.records.ofSession(waiter.session);
    return {
      place: waiter.place,
      session: waiter.session,
      app,
      host,
      pid,
      joinedAt: Math.round(now - waiter.waitedMs),
      listening: waiter.isListening,
    };
  }
}
