/** `GET api/v1/lock?name=`: one lock with its line and its last hour. The line is read by the library, at most once a second. */
import type { InspectedLine, Locks } from 'holdfast';
import type { LockDetail, TicketView } from '../api/types.ts';
import type { Sampler } from '../sampling/sampler.ts';

const LINE_FRESH_MS = 1_000;
const LINES_MAX = 100;

interface ReadLine {
  readonly at: number;
  readonly line: Promise<{ readonly waiters: number; readonly tickets: readonly TicketView[] }>;
}

export class LockDetails {
  readonly #sampler: Sampler;
  readonly #locks: Locks;
  readonly #lines = new Map<string, ReadLine>();

  constructor(sampler: Sampler, locks: Locks) {
    this.#sampler = sampler;
    this.#locks = locks;
  }

  async read(name: string): Promise<LockDetail> {
    const { picture } = this.#sampler;
    this.#sampler.open(name);
    const { waiters, tickets } = await this.#lineOf(name);
    return {
      row: picture.rows.get(name) ?? null,
      line: tickets,
      lineLength: Math.max(waiters, tickets.length),
      holds: picture.holdsOf(name),
      reach: picture.reach,
    };
  }

  #lineOf(name: string): ReadLine['line'] {
    const now = this.#sampler.now();
    const known = this.#lines.get(name);
    if (known !== undefined && now - known.at < LINE_FRESH_MS) return known.line;
    if (this.#lines.size >= LINES_MAX) this.#lines.delete(this.#lines.keys().next().value as string);
    // Who may not read lines, or asks while Redis is away, sees the rest.
    const line = this.#readLine(name).catch(() => ({ waiters: 0, tickets: [] }));
    this.#lines.set(name, { at: now, line });
    return line;
  }

  async #readLine(name: string): ReadLine['line'] {
    const found = await this.#locks.inspect(name);
    if (found === null || found.kind === 'other') return { waiters: 0, tickets: [] };
    const now = this.#sampler.now();
    return { waiters: found.waiters, tickets: found.line.map((waiter) => this.#view(waiter, now)) };
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
