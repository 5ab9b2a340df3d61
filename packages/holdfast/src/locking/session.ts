/**
 * One process's identity towards Redis, and everything that lives as long: the timers, the renewal of its holds, its
 * entrances.
 *
 * - `open`: callers come in. Out: `closing`, `closed`.
 * - `closing`: nobody comes in any more, and nobody waits; owners have their grace, what is under way is waited for.
 *   Out: `closed`.
 * - `closed`: nothing is sent any more. Leases that are left on the servers run out.
 *
 * In this folder: the life of a lock inside this process: the session, an entrance for each name, holds with their
 * owners and leases, renewal and re-entry. `waiting/` has what it takes to get a hold. Only `primitives/`, `admin/`,
 * `locks.ts` and `index.ts` import from here.
 */
import { LockClosedError } from '../errors.ts';
import { type ResolvedAcquireOptions, resolveAcquireOptions } from '../options/acquire-options.ts';
import type { ResolvedLocksOptions } from '../options/options.ts';
import { quote } from '../runtime/printable.ts';
import { Deadline, type TimerQueue } from '../runtime/timer-queue.ts';
import type { HolderIds, Protocol } from '../topologies/protocol.ts';
import type { Topology } from '../topologies/topology.ts';
import { Entrance } from './entrance.ts';
import type { EntranceSession } from './entrance-session.ts';
import type { Hold } from './hold.ts';
import { releaseAtExit } from './process-exit.ts';
import { Reentry } from './reentry.ts';
import { Renewal } from './renewal.ts';
import { Mailboxes } from './waiting/mailboxes.ts';

/** The record of who a session is, for those who look at its locks from outside. No lock depends on the record. */
export interface RecordKeeper {
  /** From now on the record is kept. Called at every hold and every place in a line, and never waited for. */
  begin(): void;
  /** The session ends in good order: its record goes with it. */
  remove(): Promise<void>;
  /** Nothing is sent any more. */
  stop(): void;
}

/** Something of a session that goes on by itself: a leader, a schedule. It ends with the session. */
export interface SessionService {
  /** Ends in good order: nothing new begins, and what runs has `graceMs` or longer to finish. Never rejects. */
  close(graceMs: number): Promise<void>;
  /** Nothing new begins, and nothing is sent any more. */
  halt(): void;
}

export interface SessionParts {
  /** A UUID: the first part of the holder id of every lock. */
  readonly id: string;
  readonly topology: Topology;
  readonly timers: TimerQueue;
  readonly options: ResolvedLocksOptions;
  /** Null where the option `application` is false. */
  readonly record: RecordKeeper | null;
}

export class Session implements EntranceSession {
  readonly id: string;
  readonly options: ResolvedLocksOptions;
  /** The options of an acquisition that brings none of its own. */
  readonly plainOptions: ResolvedAcquireOptions;
  readonly timers: TimerQueue;
  readonly topology: Topology;
  readonly record: RecordKeeper | null;
  readonly renewal: Renewal;
  readonly reentry: Reentry;
  readonly holderIds: HolderIds;
  readonly mailboxes: Mailboxes;
  state: 'open' | 'closing' | 'closed' = 'open';
  /** By kind, then by `queueKey` or key. */
  readonly #entrances = new Map<string, Map<string, Entrance>>();
  readonly #services = new Set<SessionService>();
  /** How many attempts, and holds that attempts brought, have not ended. `close` waits until there are none. */
  #work = 0;
  #closing: Promise<void> | null = null;
  #onIdle: (() => void) | null = null;
  #forgetAtExit: (() => void) | null = null;

  constructor({ id, topology, timers, options, record }: SessionParts) {
    this.id = id;
    this.options = options;
    this.plainOptions = resolveAcquireOptions({}, options, false);
    this.timers = timers;
    this.topology = topology;
    this.record = record;
    this.renewal = new Renewal(timers, topology, options);
    this.mailboxes = new Mailboxes(topology, id, options.callTimeoutMs, (holder, words) => {
      for (const { holds } of this.#all()) holds.suspect(holder, words);
    });
    this.reentry = new Reentry(timers, this.renewal, options);
    let holdNumber = 0;
    const nextNumber = (): number => {
      holdNumber += 1;
      return holdNumber;
    };
    this.holderIds = { session: id, nextNumber, token: () => options.random.token() };
  }

  /** How many holds this process has. */
  get holds(): number {
    return this.renewal.size;
  }

  assertOpen(name?: string): void {
    if (this.state === 'open') return;
    const what = name === undefined ? '' : `lock ${quote(name)}: `;
    throw new LockClosedError(`${what}this Locks has been closed`, { lock: name });
  }

  /** The service ends with the session. Returns how to take it away again. */
  serve(service: SessionService): () => void {
    this.assertOpen();
    this.#services.add(service);
    return () => this.#services.delete(service);
  }

  /** The entrance to that lock. Throws once the session closes. */
  entrance(protocol: Protocol): Entrance {
    if (this.state !== 'open') this.assertOpen(protocol.name);
    const { kind, key, queueKey = key } = protocol;
    let ofKind = this.#entrances.get(kind);
    if (ofKind === undefined) {
      ofKind = new Map();
      this.#entrances.set(kind, ofKind);
    }
    let entrance = ofKind.get(queueKey);
    if (entrance === undefined) {
      entrance = new Entrance(this, protocol);
      ofKind.set(queueKey, entrance);
    }
    return entrance;
  }

  /** What this process holds under that key, of one kind or of all. */
  holdsOf(key: string, kind?: string): Hold[] {
    const entrances = [...this.#entrances].flatMap(([itsKind, ofKind]) =>
      kind === undefined || kind === itsKind ? [ofKind.get(key)] : [],
    );
    return entrances.flatMap((entrance) => entrance?.holds.all ?? []);
  }

  /** Nobody uses the entrance any more: the next caller for that name gets a new one. */
  forget(entrance: Pick<Entrance, 'protocol'>): void {
    const { kind, key, queueKey = key } = entrance.protocol;
    const ofKind = this.#entrances.get(kind);
    if (ofKind?.get(queueKey) === entrance) ofKind.delete(queueKey);
  }

  /** Something is under way that may leave a lock behind if the connection is closed now. */
  begin(): void {
    this.#work += 1;
    this.#forgetAtExit ??= releaseAtExit(this);
  }

  finish(): void {
    this.#work -= 1;
    if (this.#work === 0) this.#onIdle?.();
  }

  /** Turns waiters away, gives owners `graceMs` to finish, releases what is left, closes the connections. */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    if (this.state === 'closed') return;
    this.state = 'closing';
    for (const entrance of this.#all()) entrance.turnAway();
    // Services release what they hold themselves, when what runs under it has ended.
    const serving = [...this.#services].map((service) => service.close(graceMs));
    if (this.holds > 0 && graceMs > 0) await this.#untilIdle(graceMs);
    await Promise.all(serving);
    for (const entrance of this.#all()) entrance.close();
    // A grant that crosses the closing must be released too.
    if (this.#work > 0) await this.#untilIdle(this.options.callTimeoutMs);
    await Promise.all([this.topology.flush(), this.record?.remove()]);
    await this.destroy();
  }

  /** Everything stops now. Leases on the server run out by themselves. */
  async destroy(): Promise<void> {
    if (this.state === 'closed') return;
    this.state = 'closed';
    // First, so that the entrances send no releases when they close: the locks are left to their leases on the server.
    this.topology.stop();
    for (const service of [...this.#services]) service.halt();
    for (const entrance of this.#all()) entrance.close();
    this.renewal.stop();
    this.record?.stop();
    this.#forgetAtExit?.();
    await this.topology.close();
    this.timers.retire();
    this.#onIdle?.();
  }

  /** The event loop has run dry with leases held: nobody will release them any more, so we do. */
  async releaseAll(): Promise<void> {
    for (const entrance of this.#all()) entrance.close();
    await this.topology.flush();
  }

  /** A copy: callbacks of callers may add or remove entrances while somebody iterates. */
  #all(): Entrance[] {
    return [...this.#entrances.values()].flatMap((ofKind) => [...ofKind.values()]);
  }

  #untilIdle(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const deadline = new Deadline(() => this.#onIdle?.(), true);
      this.#onIdle = () => {
        this.#onIdle = null;
        this.timers.cancel(deadline);
        resolve();
      };
      this.timers.setIn(deadline, limitMs);
    });
  }
}
