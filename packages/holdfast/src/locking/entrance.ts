/**
 * The one entrance of this process to a lock. All local callers for a name pass here: at most one of them asks the
 * servers at any time, and a hold passes from one local owner to the next without touching Redis.
 * A caller that finds nobody waiting, and no hold that keeps it out, asks at once (`#enterAlone`); most are granted. A
 * caller that is refused, or comes while others wait, queues. `#pump` serves the queue: a hold with room goes to the first
 * waiter; without one, a loop asks the servers on behalf of all waiters, unless the process has `holdsMax` holds already.
 *
 * A hold has room when fewer than `ownersMax` own it (`hasRoom`). The next owner gets the hold by hand-over. Other
 * processes wait meanwhile, so a hold is handed over at most `handovers` times, and not once it is `handoverMs` old. Then
 * the line of waiters decides who is next. Without a line (a quorum), this process pauses if others were listening.
 * While `#stepsUnderWay` is above zero no waiter moves: the step (an extension, a release) decides what comes next.
 */
import type { LossReason } from '../errors.ts';
import type { ResolvedAcquireOptions } from '../options/acquire-options.ts';
import { Deadline } from '../runtime/timer-queue.ts';
import type { Protocol } from '../topologies/protocol.ts';
import type { ReleaseResult } from '../topologies/topology.ts';
import type { EntranceSession } from './entrance-session.ts';
import { type Broken, closedError, crowdError, type Refusal, releaseError } from './failures.ts';
import type { Hold, HoldKeeper } from './hold.ts';
import { beginHold, endHold, loseHold, releaseHold } from './hold-life.ts';
import { Holds } from './holds.ts';
import { LeaseHandle } from './lease.ts';
import { Owner } from './owner.ts';
import { Attempts, type Grant } from './waiting/attempt.ts';
import { Pause } from './waiting/pause.ts';
import { type LeaseWaiter, Waiters } from './waiting/waiters.ts';

export class Entrance implements HoldKeeper {
  readonly session: EntranceSession;
  readonly protocol: Protocol;
  readonly holds: Holds;
  /** Who asks the servers now. */
  #seeker: 'nobody' | 'a lone caller' | 'the loop' = 'nobody';
  /** From a first attempt until the lock is granted or given up. */
  #attempts: Attempts | null = null;
  /** Made when the first caller has to wait. */
  #waiters: Waiters | null = null;
  #stepsUnderWay = 0;
  /** Releases under way with no caller waiting behind them. */
  #releasing = 0;
  /** Made at the first release that others heard where there is no line. */
  #pause: Pause | null = null;

  constructor(session: EntranceSession, protocol: Protocol) {
    this.session = session;
    this.protocol = protocol;
    this.holds = new Holds(session);
  }

  /** Resolves to the caller's lease; to null for a try that found the lock taken. */
  enter(options: ResolvedAcquireOptions, startedMs: number): Promise<LeaseHandle | null> {
    const { signal, isTry } = options;
    const isFirst = this.#head === null;
    const shared = isFirst ? this.#roomFor(options) : null;
    if (shared?.owners.length === 0 && options.renew && signal === undefined && this.#stepsUnderWay === 0) {
      return Promise.resolve(this.#serveNext(shared, options));
    }
    const canAsk = isFirst && shared === null && this.#canSeek;
    // A caller with a signal may leave before the answer comes, so it queues from the start.
    if (canAsk && signal === undefined && (isTry || this.#pauseMs <= 0)) {
      return this.#enterAlone(options, startedMs);
    }
    const waiters = this.#queue();
    const wasSeeking = this.#seeker === 'the loop';
    const isLoopAsking = wasSeeking && (isFirst || waiters.isAttempting);
    const isAnswerComing = shared !== null || canAsk || isLoopAsking || this.#seeker === 'a lone caller';
    if (isTry && !isAnswerComing) return waiters.answerTry();
    if (waiters.isFull) return Promise.reject(crowdError(this.protocol, waiters.size));
    const waiter = waiters.newWaiter(options, startedMs);
    waiters.push(waiter);
    if (isFirst) this.#pump();
    // The first waiter's clock starts with the answer to the attempt. A loop that ran before may be subscribing instead.
    const isAsking = this.#seeker === 'the loop' && (!wasSeeking || waiters.isAttempting);
    if (waiter.isWaiting && !isTry && !(isAsking && waiter === waiters.head)) waiters.armTimeout(waiter);
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
    if (hold.owners.length > 0 && this.protocol.reentry !== undefined)
      return this.session.reentry.leave(owner);
    const next = this.#head;
    if (hold.owners.length > 0 || (next !== null && this.#roomFor(next.options) === hold)) {
      this.#pump();
      return true;
    }
    if (next === null && this.holds.keep(hold)) return true;
    const result = await this.#release(hold);
    if (result.is === 'failed') throw releaseError(this.protocol, result.servers);
    return result.is === 'released';
  }

  /** The servers have ended the owner's hold by a call that did more than release it: see `endHold`. */
  ended(owner: Owner): void {
    owner.markReleased();
    void this.#release(owner.hold, endHold(this.session, owner.hold));
  }

  /** A hold that was live until now has run out or was taken away. Its owners are notified, and the waiters move on. */
  lost(hold: Hold, reason: LossReason): void {
    this.#stepsUnderWay += 1;
    this.holds.drop(hold);
    loseHold(this.session, hold, reason);
    this.#stepsUnderWay -= 1;
    this.#pump();
    this.session.finish();
  }

  turnAway(): void {
    this.#waiters?.turnAway();
    this.holds.endLinger();
    if (this.session.state !== 'closed') this.#pump();
  }

  /** Turns everybody away; what is held is lost to its owners, then released. */
  close(): void {
    this.turnAway();
    for (const hold of this.holds.all) if (hold.isLive) this.lost(hold, 'closed');
  }

  /** The one place where those who wait move on: into a hold with room, or behind a loop that seeks another. */
  #pump(last: Refusal | Broken | null = null): void {
    for (let next = this.#head; next !== null && this.#stepsUnderWay === 0; next = this.#head) {
      const hold = this.#roomFor(next.options);
      if (hold === null) break;
      if (next.options.renew) next.resolve(this.#serveNext(hold, next.options));
      else {
        hold.handoversLeft -= 1;
        void this.#extendFor(hold, next, hold.handoverVia);
      }
    }
    if (this.#stepsUnderWay > 0) return;
    const unowned = this.holds.unowned(this.#head !== null);
    if (unowned !== undefined) void this.#release(unowned);
    else if (this.#head === null) this.#forgetIfIdle();
    else if (this.#canSeek) void this.#seek(last);
    // The process has `holdsMax` holds: no attempt will be made that could answer a `tryAcquire`.
    else if (this.#seeker === 'nobody') this.#waiters?.answerTries();
  }

  #forgetIfIdle(): void {
    if (this.#seeker !== 'nobody' || this.holds.size > 0 || this.#releasing > 0) return;
    if (this.#pauseMs <= 0) this.session.forget(this);
    else this.session.timers.setIn(new Deadline(() => this.#pump(), false), this.#pauseMs);
  }

  /** Whether one more hold may be sought now. */
  get #canSeek(): boolean {
    const { holdsMax } = this.protocol.policy;
    return this.#seeker === 'nobody' && this.#stepsUnderWay === 0 && this.holds.size < holdsMax;
  }

  /** How long this process still lets others ask first. */
  get #pauseMs(): number {
    return this.#pause?.leftMs ?? 0;
  }

  get #head(): LeaseWaiter | null {
    return this.#waiters?.head ?? null;
  }

  #queue(): Waiters {
    this.#waiters ??= new Waiters(this.session, this.protocol, () => this.#wait());
    return this.#waiters;
  }

  /** The attempts of the wait that is under way, or of the next. */
  #wait(): Attempts {
    this.#attempts ??= new Attempts(this.session, this.protocol);
    return this.#attempts;
  }

  #roomFor(options: ResolvedAcquireOptions): Hold | null {
    return this.session.state === 'open' ? this.holds.roomFor(options) : null;
  }

  /** The next owner takes what is left of the lease; its own lease takes effect with the next renewal. */
  #serveNext(hold: Hold, { leaseMs }: ResolvedAcquireOptions): LeaseHandle {
    hold.handoversLeft -= 1;
    if (hold.owners.length === 0) this.session.renewal.adopt(hold, leaseMs, true);
    return this.#serve(hold, hold.handoverVia);
  }

  /** A caller with a fixed lease gets its full length: one script call extends the lease. */
  async #extendFor(hold: Hold, waiter: LeaseWaiter, via: Owner['via']): Promise<void> {
    this.#stepsUnderWay += 1;
    hold.renews = false;
    const result = await this.session.renewal.extend(hold, waiter.options.leaseMs);
    this.#stepsUnderWay -= 1;
    if (hold.isLive && result?.is === 'kept' && waiter.isWaiting) waiter.resolve(this.#serve(hold, via));
    // No answer, or the caller left meanwhile: let the hold go and start over.
    else if (hold.isLive) await this.#release(hold);
    this.#pump();
  }

  #serve(hold: Hold, via: Owner['via']): LeaseHandle {
    return new LeaseHandle(new Owner(hold, hold.nextFence(), null, via));
  }

  /** A caller with nobody ahead of it: one attempt, in its own async context, which usually brings the lease. */
  async #enterAlone(options: ResolvedAcquireOptions, startedMs: number): Promise<LeaseHandle | null> {
    const { session, protocol } = this;
    this.#seeker = 'a lone caller';
    session.begin();
    const { leaseMs, waitMs, lingerMs, isTry } = options;
    const result = await this.#wait().make({ leaseMs, waitMs, behind: 0, joins: !isTry, lingerMs });
    const isOpen = session.state === 'open';
    if (result.is === 'granted' && isOpen) {
      const lease = this.#serve(this.#hold(result, options.renew), 'free');
      this.#pump();
      return lease;
    }
    if (result.is === 'granted') session.topology.abandon(protocol, result.terms);
    if (result.is === 'granted' || !isOpen) {
      this.#endSeeking(null);
      throw closedError(protocol, session.timers.clock.monotonicMs() - startedMs);
    }
    const isAnswered = result.is === 'settled' || (isTry && result.is === 'held');
    const waiter = isAnswered ? null : this.#queue().newWaiter(options, startedMs);
    if (waiter !== null) this.#queue().pushFirst(waiter);
    this.#endSeeking(result);
    if (waiter !== null) return await waiter.promise;
    return result.is === 'settled' ? Promise.reject(result) : null;
  }

  /** The loop asks for all who wait, until one of them is served or all have left. */
  async #seek(last: Refusal | Broken | null): Promise<void> {
    this.#seeker = 'the loop';
    this.session.begin();
    const grant = await this.#queue().seek(last, this.#pauseMs);
    const next = this.#head;
    if (grant === null || next === null) {
      // The grant crossed the departure of the last caller.
      if (grant !== null) this.session.topology.abandon(this.protocol, grant.terms);
      return this.#endSeeking(null);
    }
    const { leaseMs, renew } = next.options;
    const via = this.#queue().viaOf(grant);
    const hold = this.#hold(grant, renew);
    if (!renew && (leaseMs !== grant.terms.leaseMs || grant.claimMs !== undefined)) {
      // The grant is a claim, or has another caller's lease. A fixed lease is never renewed, so it is extended now.
      void this.#extendFor(hold, next, via);
    } else {
      this.session.renewal.adopt(hold, leaseMs, renew);
      next.resolve(this.#serve(hold, via));
    }
    this.#pump();
  }

  /** No attempt was granted. One without an answer may have been: the next caller repeats it, or it is abandoned. */
  #endSeeking(last: Refusal | Broken | null): void {
    this.#seeker = 'nobody';
    this.#pump(last);
    if (this.#seeker === 'nobody') {
      const attempts = this.#attempts;
      this.#attempts = null;
      attempts?.abandon();
    }
    this.session.finish();
  }

  #hold(grant: Grant, renews: boolean): Hold {
    this.#seeker = 'nobody';
    if (this.#attempts?.hasMetOwner === true) this.#pause?.reset();
    this.#attempts = null;
    const caller = { renews, isCrowded: (this.#waiters?.size ?? 0) > 1 };
    const hold = beginHold(this.session, this.protocol, grant, caller, this);
    this.holds.add(hold, () => this.#pump());
    return hold;
  }

  /** Releases in Redis. If servers without a line tell of other listeners, callers who wait here ask again later. */
  async #release(hold: Hold, releasing = releaseHold(this.session, hold)): Promise<ReleaseResult> {
    this.holds.drop(hold);
    const ownListeners = this.#waiters?.isListening === true ? 1 : 0;
    // If nobody waits, the next caller may ask at once: its acquire is written after this release.
    const isAwaited = this.#head !== null;
    if (isAwaited) this.#stepsUnderWay += 1;
    else this.#releasing += 1;
    const result = await releasing;
    if (isAwaited) this.#stepsUnderWay -= 1;
    else this.#releasing -= 1;
    const isHeard = result.is === 'released' && result.receivers > ownListeners;
    if (isHeard && this.session.mailboxes.of(this.protocol) === null) {
      this.#pause ??= new Pause(this.session);
      this.#pause.begin(hold.grantedMs);
    }
    this.#pump();
    this.session.finish();
    return result;
  }
}
