/**
 * One global acquisition, from grant to release. It may serve several local owners: one after the other by hand-over,
 * the same one again by re-entry, or several at once where the kind of lock allows that.
 *
 * - `live`: ours until the deadline, by our own clocks and not a moment longer, whatever the server may still say.
 *   Out: `abandoned`, `released`, `lost`.
 * - `abandoned`: every lease handed out under the hold was garbage-collected unreleased, so nobody can release it. The
 *   work may still be running: the hold stays ours until its deadline and is not renewed. Out: `lost`, `released`.
 * - `released`: given back. Final: no request, timer or callback touches the hold any more.
 * - `lost`: ours no longer, by time or by the word of the server. Final: every owner has been told, or is about to be.
 *
 * Requests that state the lease (renewals, extensions, recounts) go one at a time, between `beginStatement` and
 * `endStatement`: with two in flight we would not know which of the two leases the server has, and our deadline must
 * never be later than the end of that lease.
 */
import type { LockLostError, LossReason } from '../errors.ts';
import { assert } from '../runtime/assert.ts';
import type { Clock } from '../runtime/clock.ts';
import { detached } from '../runtime/detached.ts';
import type { HeapItem } from '../runtime/heap.ts';
import { type Instant, instantNow, leaseDeadline, remainingAt } from '../runtime/instant.ts';
import { type ToldLease, telemetry } from '../telemetry/publish.ts';
import type { Protocol } from '../topologies/protocol.ts';
import type { ReleaseTerms, StateResult } from '../topologies/topology.ts';
import { lossError } from './failures.ts';
import type { Linger } from './waiting/attempt.ts';

/** A local owner, as its hold sees it. */
export interface HoldOwner extends ToldLease {
  /** Whether the owner's lease was garbage-collected unreleased. */
  isAbandoned(): boolean;
  /** Settles the owner's state. No callback runs. */
  markLost(loss: LockLostError): void;
  /** Runs the callbacks of the owner's caller. */
  tellLoss(): void;
}

/** Who is responsible for a hold (its entrance), as the hold and its owners see it. */
export interface HoldKeeper {
  readonly session: {
    readonly id: string;
    readonly timers: { readonly clock: Clock };
    readonly renewal: { extend(hold: Hold, leaseMs: number): Promise<StateResult | null> };
  };
  /** The hold has ended without a release: the only call from a hold upward. */
  lost(hold: Hold, reason: LossReason): void;
  /** Takes one ownership back. True: the lock was ours to the end. False: it was not any more. */
  leave(owner: HoldOwner): Promise<boolean>;
  /** The servers have ended the hold of that owner by a call that did more than release it. */
  ended(owner: HoldOwner): void;
}

export interface HoldGrant {
  readonly protocol: Protocol;
  readonly holder: string;
  readonly leaseMs: number;
  readonly renews: boolean;
  /** The server has the hold for this long, and not yet for its lease. */
  readonly claimMs: number | undefined;
  readonly deadline: Instant;
  readonly firstFence: number | undefined;
  readonly handovers: number;
  readonly grantedMs: number;
  readonly keeper: HoldKeeper;
  /** Absent: the hold must not be kept unowned. */
  readonly linger: Linger | undefined;
  /** Which attempt at its work the hold is for, where the kind counts attempts. */
  readonly attempt?: number | undefined;
}

const NO_OWNERS: readonly HoldOwner[] = [];

export class Hold implements HeapItem {
  readonly protocol: Protocol;
  readonly holder: string;
  readonly grantedMs: number;
  readonly keeper: HoldKeeper;
  readonly attempt: number | undefined;
  /** The end of the block of fences. */
  readonly lastFence: number | undefined;
  /** Those who own the hold now, re-entries included: their number is the hold count in Redis. */
  owners: readonly HoldOwner[] = NO_OWNERS;
  /** The place in the heap of the renewal. */
  heapIndex = -1;
  leaseMs: number;
  renews: boolean;
  handoversLeft: number;
  /** Undefined: the hold must not be kept unowned. */
  readonly linger: Linger | undefined;
  /** The owner's work cannot be stopped: when the hold ends nothing is released, and the lease on the server runs out. */
  isLeftToLease = false;
  /** False: whoever it was granted to never began. */
  wasServed = true;
  /** Why an operator took the hold away, in the operator's words, '' where none were said; null: nobody did, as far as we heard. */
  takenFor: string | null = null;
  /** How long the server had the hold for when it last said so: a claim or a lease. */
  statedMs: number;
  /** When the next renewal should go out; only meaningful while `renews`. */
  renewAtMs = 0;
  #deadline: Instant;
  /** The longest lease ever sent: the server may keep the hold for this long. */
  #longestMs: number;
  #state: 'live' | 'abandoned' | 'released' | 'lost' = 'live';
  /** Those who wait for the present statement to end; null when no statement is under way. */
  #afterStatement: (() => void)[] | null = null;

  constructor(grant: HoldGrant) {
    this.protocol = grant.protocol;
    this.holder = grant.holder;
    this.grantedMs = grant.grantedMs;
    this.keeper = grant.keeper;
    this.attempt = grant.attempt;
    this.leaseMs = grant.leaseMs;
    this.#longestMs = grant.leaseMs;
    this.linger = grant.linger;
    this.statedMs = grant.claimMs ?? grant.leaseMs;
    this.renews = grant.renews;
    this.handoversLeft = grant.handovers;
    this.#deadline = grant.deadline;
    const { firstFence, handovers } = grant;
    assert(
      (firstFence === undefined) === (grant.protocol.fencing === undefined),
      () => 'a hold has fences exactly when its kind has',
    );
    this.lastFence = firstFence === undefined ? undefined : firstFence + handovers;
  }

  /** Neither released nor lost. The time may be over all the same: see `remainingMs`. */
  get isLive(): boolean {
    return this.#state === 'live' || this.#state === 'abandoned';
  }

  /** Whether the hold ended by loss rather than by release. */
  get wasLost(): boolean {
    return this.#state === 'lost';
  }

  /** Why the hold is lost when the server says that it is gone. */
  get goneAs(): LossReason {
    return this.takenFor === null ? 'gone' : 'revoked';
  }

  /** Why the hold is lost when its time runs out. */
  get endsAs(): LossReason {
    return this.#state === 'abandoned' ? 'abandoned' : 'expired';
  }

  /** What a release must know of the hold. */
  get releaseTerms(): ReleaseTerms {
    return { holder: this.holder, leaseMs: this.#longestMs, wasServed: this.wasServed };
  }

  /** How long until the deadline, by whichever clock says sooner; zero or less when it has passed. */
  remainingMs(clock: Clock): number {
    return this.remainingAt(instantNow(clock));
  }

  remainingAt(now: Instant): number {
    return remainingAt(this.#deadline, now);
  }

  isValid(clock: Clock): boolean {
    return this.isLive && this.remainingMs(clock) > 0;
  }

  /** The fence of the owner that is served next: one of the block for each hand-over. */
  nextFence(): number | undefined {
    return this.lastFence === undefined ? undefined : this.lastFence - this.handoversLeft;
  }

  /** How the next owner gets the hold. */
  get handoverVia(): 'local' | 'linger' {
    return this.linger?.wasKept === true ? 'linger' : 'local';
  }

  /** Until when the hold may be kept unowned, by our monotonic clock; 0: not, or not any more. */
  get lingerUntilMs(): number {
    return this.linger?.untilMs ?? 0;
  }

  /** The hold must not be kept unowned any more. */
  endLinger(): void {
    if (this.linger !== undefined) this.linger.untilMs = 0;
  }

  addOwner(owner: HoldOwner): void {
    if (this.linger !== undefined) this.linger.wasKept = false;
    this.owners = this.owners.length === 0 ? [owner] : this.owners.concat(owner);
  }

  removeOwner(owner: HoldOwner): void {
    assert(this.owners.includes(owner), () => 'an owner leaves the hold that it owns');
    this.owners = this.owners.length === 1 ? NO_OWNERS : this.owners.filter((other) => other !== owner);
  }

  /** Live to abandoned, when every lease handed out under the hold was thrown away unreleased. */
  abandonIfUnreachable(): boolean {
    if (this.#state !== 'live' || this.owners.length === 0) return false;
    // Ask every owner, also after a false: the first `isAbandoned` makes the reference to the lease weak.
    let isUnreachable = true;
    for (const owner of this.owners) if (!owner.isAbandoned()) isUnreachable = false;
    if (!isUnreachable) return false;
    this.#state = 'abandoned';
    this.renews = false;
    return true;
  }

  /** The hold has come to its end, by time or by the word of the servers: its keeper ends it. */
  lose(reason: LossReason): void {
    this.keeper.lost(this, reason);
  }

  /** Live to released. */
  markReleased(): void {
    this.#end('released');
  }

  /** Live to lost: every owner knows at once, before any callback runs. */
  markLost(reason: LossReason, nowMs: number): void {
    this.#end('lost');
    const heldMs = nowMs - this.grantedMs;
    for (const owner of this.owners) owner.markLost(lossError(this, owner.fence, reason, heldMs));
  }

  #end(state: 'released' | 'lost'): void {
    assert(this.isLive, () => `a hold ends once, and this one is ${this.#state}`);
    this.#state = state;
  }

  /**
   * Runs the callbacks of all owners of a lost hold. In nobody's async context: a listener must not find itself inside
   * the `using` that happens to run us.
   */
  tellLoss(reason: LossReason): void {
    assert(this.wasLost, () => 'only a lost hold is told of');
    detached(() => {
      for (const owner of this.owners) owner.tellLoss();
      const [first] = this.owners;
      if (first !== undefined) telemetry.lost(this.protocol, first, reason);
      if (!telemetry.tellsEnds) return;
      const nowMs = this.keeper.session.timers.clock.monotonicMs();
      for (const owner of this.owners) telemetry.ended(this.protocol, owner, nowMs, reason);
    });
  }

  /** Whether a request that states the lease is under way. */
  get isStating(): boolean {
    return this.#afterStatement !== null;
  }

  /** Resolves when the present statement has ended. Somebody else may have begun another by then: look again. */
  statementEnd(): Promise<void> {
    return new Promise((resolve) => this.#afterStatement?.push(resolve));
  }

  /**
   * Before a statement is sent. If it shortens the lease and its answer is lost, the server may have the shorter one:
   * so the deadline moves down now, and only an answer moves it up.
   */
  beginStatement(sentAt: Instant, leaseMs: number, canShorten: boolean): void {
    assert(this.isLive && !this.isStating, () => 'a live hold states its lease one request at a time');
    this.#afterStatement = [];
    this.#longestMs = Math.max(this.#longestMs, leaseMs);
    if (canShorten) this.#deadline = earlier(this.#deadline, leaseDeadline(sentAt, leaseMs));
  }

  /** The server has confirmed that it set exactly this lease. */
  stated(sentAt: Instant, leaseMs: number): void {
    this.statedMs = leaseMs;
    this.#deadline = leaseDeadline(sentAt, leaseMs);
  }

  /** The server has confirmed that the lease is at least this long. */
  statedAtLeast(sentAt: Instant, leaseMs: number): void {
    this.statedMs = Math.max(this.statedMs, leaseMs);
    this.#deadline = later(this.#deadline, leaseDeadline(sentAt, leaseMs));
  }

  /** The statement was answered, or never will be. */
  endStatement(): void {
    const waiting = this.#afterStatement;
    assert(waiting !== null, () => 'a statement ends that has begun');
    this.#afterStatement = null;
    for (const wake of waiting) wake();
  }
}

function earlier(a: Instant, b: Instant): Instant {
  return { monotonicMs: Math.min(a.monotonicMs, b.monotonicMs), wallMs: Math.min(a.wallMs, b.wallMs) };
}

function later(a: Instant, b: Instant): Instant {
  return { monotonicMs: Math.max(a.monotonicMs, b.monotonicMs), wallMs: Math.max(a.wallMs, b.wallMs) };
}
