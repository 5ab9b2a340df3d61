/**
 * One process's identity towards Redis and everything that lives as long as it: the timers, the renewal of its
 * holds, its turnstiles, its open clean-ups.
 */

import { SessionRecordWriter } from '../admin/session-record.ts';
import { shownOwner } from '../admin/shown-owner.ts';
import { LockClosedError, type LossReason } from '../errors.ts';
import {
  type ResolvedAcquireOptions,
  type ResolvedLocksOptions,
  resolveAcquireOptions,
} from '../options/options.ts';
import type { Instant } from '../runtime/instant.ts';
import { quote } from '../runtime/printable.ts';
import { Deadline, type TimerQueue } from '../runtime/timer-queue.ts';
import type { HolderIds, Protocol } from '../topologies/protocol.ts';
import type { ReleaseResult, Topology } from '../topologies/topology.ts';
import { releaseAtExit } from './exit.ts';
import type { Hold } from './hold.ts';
import type { Owner } from './owner.ts';
import { Reentry } from './reentry.ts';
import { Renewal } from './renewal.ts';
import { Turnstile } from './turnstile.ts';

export class Session implements HolderIds {
  readonly id: string;
  readonly options: ResolvedLocksOptions;
  readonly timers: TimerQueue;
  readonly topology: Topology;
  readonly renewal: Renewal;
  readonly reentry: Reentry;
  /** Null without an application to tell of. */
  readonly #record: SessionRecordWriter | null;
  /** By key: the entrance to a lock, or only its hold while nobody waits there. */
  readonly #byKind = new Map<string, Map<string, Turnstile | Hold>>();
  #holdNumber = 0;
  #holds = 0;
  /** Contenders that are out and releases without an answer yet: what `close` waits for. */
  #inFlight = 0;
  #state: 'open' | 'closing' | 'closed' = 'open';
  #closing: Promise<void> | null = null;
  #onFree: (() => void) | null = null;
  #forgetAtExit: (() => void) | null = null;

  /** The options of an acquisition that brings none of its own. */
  readonly plainOptions: ResolvedAcquireOptions;

  constructor(topology: Topology, timers: TimerQueue, options: ResolvedLocksOptions) {
    this.id = options.random.uuid();
    this.options = options;
    this.plainOptions = resolveAcquireOptions({}, options, false);
    this.timers = timers;
    this.topology = topology;
    this.renewal = new Renewal(timers, topology, options);
    this.reentry = new Reentry(this);
    const { application, callTimeoutMs } = options;
    this.#record =
      application === undefined
        ? null
        : new SessionRecordWriter(timers, topology, { session: this.id, application, callTimeoutMs });
  }

  get state(): 'open' | 'closing' | 'closed' {
    return this.#state;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get holds(): number {
    return this.#holds;
  }

  assertOpen(name?: string): void {
    if (this.#state === 'open') return;
    const what = name === undefined ? '' : `lock ${quote(name)}: `;
    throw new LockClosedError(`${what}this Locks has been closed`, { lock: name });
  }

  get session(): string {
    return this.id;
  }

  nextNumber(): number {
    this.#holdNumber += 1;
    return this.#holdNumber;
  }

  token(): string {
    return this.options.random.token();
  }

  #entrancesOf(kind: string): Map<string, Turnstile | Hold> {
    let entrances = this.#byKind.get(kind);
    if (entrances === undefined) {
      entrances = new Map();
      this.#byKind.set(kind, entrances);
    }
    return entrances;
  }

  /** The holder of a lock with that number of ours. */
  holderOf(holdNumber: number): string {
    return `${this.id}:${holdNumber}`;
  }

  /** Which of our holders it is. */
  numberOf(holder: string): number {
    return Number(holder.slice(this.id.length + 1));
  }

  turnstile(protocol: Protocol): Turnstile {
    const entrances = this.#entrancesOf(protocol.kind);
    const found = entrances.get(protocol.key);
    if (found instanceof Turnstile) return found;
    const turnstile = new Turnstile(this, protocol, found ?? null);
    entrances.set(protocol.key, turnstile);
    return turnstile;
  }

  /** Nobody waits for what is held: its turnstile can go. */
  leaveTo(hold: Hold): void {
    const { kind, key } = hold.protocol;
    this.#entrancesOf(kind).set(key, hold);
  }

  /** Gives back one ownership. True: it was ours to the end. False: it was not any more. */
  release(owner: Owner): Promise<boolean> {
    if (owner.state !== 'held') return Promise.resolve(false);
    return this.turnstile(owner.hold.protocol).release(owner);
  }

  /** A hold has ended by itself or was taken away: everybody under it is told. */
  holdLost(hold: Hold, reason: LossReason): void {
    if (hold.isLive) this.turnstile(hold.protocol).holdLost(hold, reason);
  }

  /** What this process holds of that lock, if it does. */
  holdOf({ kind, key }: Protocol): Hold | null {
    const entrance = this.#entrancesOf(kind).get(key) ?? null;
    return entrance instanceof Turnstile ? entrance.hold : entrance;
  }

  /** The hold of this session on that key, if it is the one that inspections show as this owner. */
  findHold(key: string, owner: string): Hold | null {
    for (const entrances of [...this.#byKind.values()]) {
      const entrance = entrances.get(key);
      const hold = entrance instanceof Turnstile ? entrance.hold : entrance;
      if (hold && shownOwner(hold.protocol.kind, hold.holder) === owner) return hold;
    }
    return null;
  }

  /** An idle turnstile goes, once nobody has to be let past any more. */
  forgetTurnstile(turnstile: Turnstile, notBeforeMs: number): void {
    if (notBeforeMs === 0 || notBeforeMs <= this.timers.clock.monotonicMs()) this.#forget(turnstile);
    else this.timers.setAt(new Deadline(() => this.#forget(turnstile), false), notBeforeMs);
  }

  #forget(turnstile: Turnstile): void {
    const { kind, key } = turnstile.protocol;
    // By now the name may have another turnstile, or this one another caller.
    if (turnstile.isIdle && this.#entrancesOf(kind).get(key) === turnstile)
      this.#entrancesOf(kind).delete(key);
  }

  watchHold(hold: Hold, now: Instant): void {
    this.#holds += 1;
    this.#forgetAtExit ??= releaseAtExit(this);
    if (this.#holds === 1) this.#record?.begin();
    this.renewal.watch(hold, now);
  }

  /** The hold is over for us: nothing touches it any more. */
  forgetHold(hold: Hold, wasLost: boolean): void {
    hold.end(wasLost);
    this.renewal.forget(hold);
    this.#holds -= 1;
    this.#checkFree();
  }

  /** Releases in Redis; what cannot be confirmed goes on in the background. */
  async releaseHold(hold: Hold): Promise<ReleaseResult> {
    this.begin();
    const { callTimeoutMs } = this.options;
    const result = await this.topology.release(hold.protocol, hold.releaseTerms, callTimeoutMs);
    this.finish();
    return result;
  }

  /** Something is under way that may leave a lock behind if the connection is closed now. */
  begin(): void {
    this.#inFlight += 1;
  }

  finish(): void {
    this.#inFlight -= 1;
    this.#checkFree();
  }

  #checkFree(): void {
    if (this.#holds === 0 && this.#inFlight === 0) this.#onFree?.();
  }

  /** Sleeps, keeping the process alive. */
  pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.timers.setIn(new Deadline(resolve, true), delayMs));
  }

  /** Turns waiters away, gives owners `graceMs` to finish, releases what is left, closes the connections. */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    if (this.#state === 'closed') return;
    this.#state = 'closing';
    for (const entrance of this.#allEntrances()) if (entrance instanceof Turnstile) entrance.turnAway();
    if (this.#holds > 0 && graceMs > 0) await this.#untilFree(graceMs);
    this.#closeEntrances();
    // A grant that crosses the closing must be released too.
    if (this.#inFlight > 0) await this.#untilFree(this.options.callTimeoutMs);
    await Promise.all([this.topology.flush(), this.#record?.remove()]);
    await this.destroy();
  }

  /** Everything stops now. Leases on the server run out by themselves. */
  async destroy(): Promise<void> {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    // First: what is dropped now is left to its lease on the server.
    this.topology.stop();
    this.#closeEntrances();
    this.renewal.stop();
    this.#record?.stop();
    this.#forgetAtExit?.();
    await this.topology.close();
    this.timers.retire();
    this.#onFree?.();
  }

  /** The event loop has run dry with leases held: nobody will release them any more, so we do. */
  async releaseAll(): Promise<void> {
    this.#closeEntrances();
    await this.topology.flush();
  }

  #allEntrances(): (Turnstile | Hold)[] {
    return [...this.#byKind.values()].flatMap((entrances) => [...entrances.values()]);
  }

  #closeEntrances(): void {
    for (const entrance of this.#allEntrances()) {
      if (entrance instanceof Turnstile) entrance.close();
      else this.holdLost(entrance, 'closed');
    }
  }

  #untilFree(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const deadline = new Deadline(() => this.#onFree?.(), true);
      this.#onFree = () => {
        this.#onFree = null;
        this.timers.cancel(deadline);
        resolve();
      };
      this.timers.setIn(deadline, graceMs);
    });
  }
}
