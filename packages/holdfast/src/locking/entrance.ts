/**
 * The one entrance of this process to a lock. All local callers for a name pass here: at most one of them asks the
 * servers at any time, and a hold passes from one local owner to the next without touching Redis.
 *
 * A caller that finds nobody waiting, and no hold that keeps it out, asks at once (`#enterAlone`); most are granted, and
 * nothing is built for them. Whoever is refused, or comes while others wait, queues. For those who wait `#pump` decides:
 * a hold with room serves the first; without such a hold one loop seeks another for all of them, unless the process has
 * as many as it may have (`holdsMax`).
 *
 * A hold has room when fewer than `ownersMax` own it. It serves the next caller by hand-over, which is unfair to other
 * processes for a moment: so at most `handovers` times, and not once the hold is `handoverMs` old. Then it is released,
 * and when other processes were listening this one stands back for `YIELD_MS` before it contends again.
 *
 * While an answer or a callback is awaited that decides what comes next (`#turning`), nobody moves: a lease is being
 * restated for a caller with a fixed one, a hold is being released with callers waiting, or owners hear of a loss.
 *
 * An entrance that nobody uses is forgotten by its session. Work is counted there from an attempt to the end of the hold
 * that it brought, so that `close` waits for a grant that crosses it.
 */
import { LockConfigError, type LossReason } from '../errors.ts';
import type { ResolvedAcquireOptions } from '../options/options.ts';
import { Deadline } from '../runtime/timer-queue.ts';
import type { Protocol } from '../topologies/protocol.ts';
import type { ReleaseResult } from '../topologies/topology.ts';
import { type AttemptServices, Attempts, type Grant } from './attempt.ts';
import { closedError, configErrorAgain, crowdError, type Refusal, releaseError } from './failures.ts';
import type { Hold } from './hold.ts';
import { Holds, type HoldsServices } from './holds.ts';
import { LeaseHandle } from './lease.ts';
import { Owner, type OwnersEntrance } from './owner.ts';
import type { Reentry } from './reentry.ts';
import { WaitLoop } from './wait-loop.ts';
import { type LeaseWaiter, Waiters } from './waiters.ts';

/** How long this process stands back after a release that others heard: a wake-up and a round trip for them. */
const YIELD_MS = 2;

/** What an entrance needs of its session. */
export interface EntranceSession extends AttemptServices, HoldsServices {
  readonly id: string;
  readonly reentry: Reentry;
  readonly state: 'open' | 'closing' | 'closed';
  /** Something is under way that may leave a lock behind if the connection is closed now. */
  begin(): void;
  finish(): void;
  /** Nobody uses the entrance any more. */
  forget(entrance: Entrance): void;
}

export class Entrance implements OwnersEntrance {
  readonly session: EntranceSession;
  readonly protocol: Protocol;
  readonly #holds: Holds;
  readonly #waiters: Waiters;
  readonly #attempts: Attempts;
  /** Made when the first caller has to wait. */
  #loop: WaitLoop<Grant> | null = null;
  /** Who asks the servers now. */
  #seeker: 'nobody' | 'a lone caller' | 'the loop' = 'nobody';
  #turning = 0;
  /** Releases under way that nobody waits behind. */
  #releasing = 0;
  #yieldUntilMs = 0;

  constructor(session: EntranceSession, protocol: Protocol) {
    this.session = session;
    this.protocol = protocol;
    this.#holds = new Holds(session, protocol, (hold, reason) => this.lost(hold, reason));
    this.#waiters = new Waiters(session, protocol);
    this.#attempts = new Attempts(session, protocol);
  }

  get holds(): readonly Hold[] {
    return this.#holds.all;
  }

  /** Resolves to the caller's lease; to null for a try that found the lock taken. */
  enter(options: ResolvedAcquireOptions, startedMs: number): Promise<LeaseHandle | null> {
    const { signal, isTry } = options;
    const isFirst = this.#waiters.head === null;
    const hasRoom = isFirst && this.#roomFor(options) !== null;
    const canAsk = isFirst && !hasRoom && this.#canSeek;
    // A caller with a signal may leave before the answer comes, so it queues from the start.
    if (canAsk && signal === undefined && (isTry || this.#yieldMs <= 0)) {
      return this.#enterAlone(options, startedMs);
    }
    if (isTry && !hasRoom && !canAsk && !this.#isAnswerComing) {
      return this.#waiters.answerTry(this.#seeker === 'the loop');
    }
    if (this.#waiters.isFull) return Promise.reject(crowdError(this.protocol, this.#waiters.size));
    const waiter = this.#waiters.newWaiter(options, startedMs);
    this.#waiters.push(waiter);
    this.#pump();
    // Whoever the loop asks for first has its wait begin with the answer.
    const isAskedFor = this.#seeker === 'the loop' && waiter === this.#waiters.head;
    if (waiter.isWaiting && !isTry && !isAskedFor) this.#waiters.armTimeout(waiter);
    return waiter.promise;
  }

  /** Gives back one ownership. True: the lock was ours to the end. False: it was not any more. */
  async leave(owner: Owner): Promise<boolean> {
    const { hold } = owner;
    if (owner.state !== 'held') return false;
    if (!hold.isValid(this.session.timers.clock)) {
      this.lost(hold, 'expired');
      return false;
    }
    owner.markReleased();
    if (hold.owners.length > 0 && this.protocol.reentry !== undefined) {
      return this.session.reentry.leave(owner);
    }
    const next = this.#waiters.head;
    if (hold.owners.length > 0 || (next !== null && this.#roomFor(next.options) === hold)) {
      this.#pump();
      return true;
    }
    const result = await this.#release(hold);
    if (result.is === 'failed') throw releaseError(this.protocol, result.servers);
    return result.is === 'released';
  }

  /** A hold that was live until now has ended by itself or was taken away. Its owners are told, those who wait go on. */
  lost(hold: Hold, reason: LossReason): void {
    this.#turning += 1;
    this.#holds.lose(hold, reason);
    this.#turning -= 1;
    this.#pump();
    this.session.finish();
  }

  /** Nobody waits here any more. */
  turnAway(): void {
    this.#waiters.turnAway();
  }

  /** Turns everybody away; what is held is lost to its owners, then released. */
  close(): void {
    this.turnAway();
    for (const hold of [...this.holds]) if (hold.isLive) this.lost(hold, 'closed');
  }

  /** Whether one more hold may be sought now. */
  get #canSeek(): boolean {
    const { holdsMax } = this.protocol.policy;
    return this.#seeker === 'nobody' && this.#turning === 0 && this.holds.length < holdsMax;
  }

  /** Whether an attempt is under way, or about to be made, that can answer a try. */
  get #isAnswerComing(): boolean {
    if (this.#seeker !== 'the loop') return this.#seeker === 'a lone caller';
    return this.#loop?.isAttempting === true || this.#waiters.head === null;
  }

  #nowMs(): number {
    return this.session.timers.clock.monotonicMs();
  }

  /** How long this process still stands back. */
  get #yieldMs(): number {
    return this.#yieldUntilMs === 0 ? 0 : this.#yieldUntilMs - this.#nowMs();
  }

  /** The one place where those who wait move on: into a hold with room, or behind a loop that seeks another. */
  #pump(last: Refusal | null = null): void {
    for (let next = this.#waiters.head; next !== null && this.#turning === 0; next = this.#waiters.head) {
      const hold = this.#roomFor(next.options);
      if (hold === null) break;
      this.#handOver(hold, next);
    }
    if (this.#turning > 0) return;
    const { unowned } = this.#holds;
    if (unowned !== undefined) void this.#release(unowned);
    else if (this.#waiters.head === null) this.#forgetIfIdle();
    else if (this.#canSeek) void this.#seek(last);
  }

  #forgetIfIdle(): void {
    if (this.#seeker !== 'nobody' || this.holds.length > 0 || this.#releasing > 0) return;
    if (this.#yieldMs <= 0) this.session.forget(this);
    else this.session.timers.setAt(new Deadline(() => this.#pump(), false), this.#yieldUntilMs);
  }

  #roomFor(options: ResolvedAcquireOptions): Hold | null {
    return this.session.state === 'open' ? this.#holds.roomFor(options) : null;
  }

  #handOver(hold: Hold, next: LeaseWaiter): void {
    const { leaseMs, renew } = next.options;
    hold.handoversLeft -= 1;
    if (!renew) return void this.#restate(hold, next);
    // The next owner takes what is left of the lease; its own takes effect with the next renewal.
    if (hold.owners.length === 0) this.session.renewal.adopt(hold, leaseMs, renew);
    next.resolve(this.#serve(hold));
  }

  /** A caller with a fixed lease gets the whole of it: one script states the lease anew. */
  async #restate(hold: Hold, waiter: LeaseWaiter): Promise<void> {
    this.#turning += 1;
    hold.renews = false;
    const result = await this.session.renewal.extend(hold, waiter.options.leaseMs);
    this.#turning -= 1;
    if (hold.isLive && result?.is === 'kept' && waiter.isWaiting) waiter.resolve(this.#serve(hold));
    // No answer, or the caller left meanwhile: let the hold go and start over.
    else if (hold.isLive) await this.#release(hold);
    this.#pump();
  }

  #serve(hold: Hold): LeaseHandle {
    return new LeaseHandle(new Owner(this, hold, hold.nextFence(), null));
  }

  /** A caller that nobody waits before: one attempt, in its own async context, and as a rule its lease. */
  async #enterAlone(options: ResolvedAcquireOptions, startedMs: number): Promise<LeaseHandle | null> {
    const { session, protocol } = this;
    this.#seeker = 'a lone caller';
    session.begin();
    let result: Grant | Refusal;
    try {
      result = await this.#attempts.make(options.leaseMs, options.waitMs, this.#waiters.size);
    } catch (error) {
      this.#endSeeking(null);
      throw error instanceof LockConfigError ? configErrorAgain(protocol, error) : error;
    }
    if (session.state !== 'open') {
      if (result.is === 'granted') session.topology.abandon(protocol, result.terms);
      this.#endSeeking(null);
      throw closedError(protocol, this.#nowMs() - startedMs);
    }
    if (result.is === 'granted') {
      this.#seeker = 'nobody';
      const lease = this.#serve(this.#holds.add(result, options.renew));
      this.#waiters.answerTries();
      this.#pump();
      return lease;
    }
    if (result.is === 'held' && options.isTry) {
      this.#endSeeking(result);
      return null;
    }
    const waiter = this.#waiters.newWaiter(options, startedMs);
    this.#waiters.pushFirst(waiter);
    this.#endSeeking(result);
    return await waiter.promise;
  }

  /** The loop asks for all who wait, until one of them is served or all have left. */
  async #seek(last: Refusal | null): Promise<void> {
    const { session, protocol } = this;
    this.#seeker = 'the loop';
    this.#waiters.last = last;
    session.begin();
    this.#loop ??= this.#newLoop();
    const pauseMs = this.#waiters.head?.options.isTry === true ? 0 : this.#yieldMs;
    const grant = await this.#loop.run(last, pauseMs).catch((error: unknown) => {
      this.#waiters.failAll(error);
      return null;
    });
    const next = this.#waiters.head;
    if (grant === null || next === null) {
      // The grant crossed the departure of the last caller.
      if (grant !== null) session.topology.abandon(protocol, grant.terms);
      this.#endSeeking(null);
      return;
    }
    this.#seeker = 'nobody';
    this.#waiters.last = null;
    const { leaseMs, renew } = next.options;
    const hold = this.#holds.add(grant, renew);
    if (!renew && leaseMs !== grant.terms.leaseMs) {
      // The lease was asked for by whoever was first then.
      void this.#restate(hold, next);
    } else {
      this.session.renewal.adopt(hold, leaseMs, renew);
      next.resolve(this.#serve(hold));
    }
    this.#waiters.answerTries();
    this.#pump();
  }

  #newLoop(): WaitLoop<Grant> {
    const loop = new WaitLoop<Grant>(this.session, this.#waiters, {
      subject: this.protocol,
      attempt: () => {
        const { options, remainingMs } = this.#waiters.head as LeaseWaiter;
        return this.#attempts.make(options.leaseMs, remainingMs, this.#waiters.size - 1);
      },
    });
    this.#waiters.loop = loop;
    return loop;
  }

  /** Nothing was granted to anybody. What may have been granted all the same is repeated by the next, or abandoned. */
  #endSeeking(last: Refusal | null): void {
    this.#seeker = 'nobody';
    if (last === null || this.#waiters.head === null) this.#attempts.abandon();
    this.#pump(last);
    this.session.finish();
  }

  /** Releases in Redis. With callers waiting, what the server says of other listeners decides when they contend. */
  async #release(hold: Hold): Promise<ReleaseResult> {
    const releasing = this.#holds.release(hold);
    const ownListeners = this.#loop?.isListening === true ? 1 : 0;
    // A caller that comes when nobody waits may contend at once: its request travels behind this one.
    const isAwaited = this.#waiters.head !== null;
    if (isAwaited) this.#turning += 1;
    else this.#releasing += 1;
    const result = await releasing;
    if (isAwaited) this.#turning -= 1;
    else this.#releasing -= 1;
    if (result.is === 'released' && result.receivers > ownListeners) {
      this.#yieldUntilMs = this.#nowMs() + YIELD_MS;
    }
    this.#pump();
    this.session.finish();
    return result;
  }
}
