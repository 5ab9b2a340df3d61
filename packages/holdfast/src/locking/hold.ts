/**
 * One global acquisition, from grant to release, possibly serving several local owners in turn.
 *
 * It is valid until its deadline by our own clocks and not a moment longer, whatever the server may still say.
 * Requests that state its lease (renewals, re-entries, extensions) go one at a time (`keeping`): two of them in
 * flight would leave open which lease the server has, and the deadline must never be later than that one's end.
 *
 * A session may have thousands of them, so it has as few fields as will do, and keeps times in whole milliseconds where
 * that is enough: a fraction is an object of its own.
 */
import type { LossReason } from '../errors.ts';
import { assert } from '../runtime/assert.ts';
import type { Clock } from '../runtime/clock.ts';
import type { HeapItem } from '../runtime/heap.ts';
import { type Instant, leaseDeadline } from '../runtime/instant.ts';
import type { Protocol } from '../topologies/protocol.ts';
import type { ReleaseTerms, StateResult } from '../topologies/topology.ts';
import type { Owner } from './owner.ts';
import type { Session } from './session.ts';

export interface HoldGrant {
  readonly protocol: Protocol;
  readonly holder: string;
  readonly leaseMs: number;
  readonly renews: boolean;
  readonly deadline: Instant;
  readonly firstFence: number | undefined;
  readonly handovers: number;
  readonly grantedMs: number;
  /** The longest lease that was asked for under this holder. */
  readonly longestMs: number;
  /** Looks after it: takes it back from an owner, and is told when it ends by itself. */
  readonly session: Session;
}

export class Hold implements HeapItem {
  readonly protocol: Protocol;
  readonly grantedMs: number;
  readonly session: Session;
  /** The end of its block of fences. */
  readonly lastFence: number | undefined;
  /** Its place in the renewal's heap. */
  heapIndex = -1;
  leaseMs: number;
  /** The longest lease ever stated: what the server may have at worst. */
  longestMs: number;
  renews: boolean;
  handoversLeft: number;
  /** The root of the chain of owners. */
  owner: Owner | null = null;
  /** How many owners in the chain are held: the hold count in Redis. */
  count = 0;
  /** The request in flight that states the lease, if any. */
  keeping: Promise<unknown> | null = null;
  /** A mutex's token, or a lock's number within its session: the whole holder would be a string of its own. */
  readonly #holder: string | number;
  #renewAtMs = 0;
  #endMonotonicMs: number;
  #endWallMs: number;
  #state: 'live' | 'abandoned' | 'released' | 'lost' = 'live';

  constructor(grant: HoldGrant) {
    this.protocol = grant.protocol;
    this.grantedMs = Math.floor(grant.grantedMs);
    this.session = grant.session;
    this.#holder = grant.protocol.fencing === undefined ? grant.holder : grant.session.numberOf(grant.holder);
    this.leaseMs = grant.leaseMs;
    this.longestMs = grant.longestMs;
    this.renews = grant.renews;
    this.handoversLeft = grant.handovers;
    this.#endMonotonicMs = grant.deadline.monotonicMs;
    this.#endWallMs = grant.deadline.wallMs;
    const { firstFence, handovers } = grant;
    this.lastFence = firstFence === undefined ? undefined : firstFence + handovers;
  }

  get holder(): string {
    return typeof this.#holder === 'number' ? this.session.holderOf(this.#holder) : this.#holder;
  }

  /** Neither released nor lost. It may have run out all the same: see `remainingMs`. */
  get isLive(): boolean {
    return this.#state === 'live' || this.#state === 'abandoned';
  }

  /** When the next renewal should go out; only meaningful while `renews`. */
  get renewAtMs(): number {
    return this.#renewAtMs;
  }

  set renewAtMs(renewAtMs: number) {
    this.#renewAtMs = Math.floor(renewAtMs);
  }

  /** How long until the deadline, by whichever clock says sooner; zero or less when it has passed. */
  remainingMs(clock: Clock): number {
    return Math.min(this.#endMonotonicMs - clock.monotonicMs(), this.#endWallMs - clock.wallMs());
  }

  remainingAt(now: Instant): number {
    return Math.min(this.#endMonotonicMs - now.monotonicMs, this.#endWallMs - now.wallMs);
  }

  isValid(clock: Clock): boolean {
    return this.isLive && this.remainingMs(clock) > 0;
  }

  /** What its release states. */
  get releaseTerms(): ReleaseTerms {
    return { holder: this.holder, leaseMs: this.longestMs };
  }

  /** Whether it ended by loss rather than by release. */
  get wasLost(): boolean {
    return this.#state === 'lost';
  }

  end(wasLost: boolean): void {
    this.#state = wasLost ? 'lost' : 'released';
  }

  /** The fence of the owner that it now gets: one for each hand-over of the block that came with the grant. */
  nextFence(): number | undefined {
    const { lastFence, handoversLeft } = this;
    assert(
      lastFence !== undefined || this.protocol.fencing === undefined,
      () => 'a hold has a fence for each of its owners',
    );
    return lastFence === undefined ? undefined : lastFence - handoversLeft;
  }

  /**
   * Before a lease is stated: if the request shortens it and its answer is lost, the server may already have the
   * shorter one. So the deadline moves down before sending, and only an answer moves it up.
   */
  willState(sentAt: Instant, leaseMs: number): void {
    this.longestMs = Math.max(this.longestMs, leaseMs);
    const { monotonicMs, wallMs } = leaseDeadline(sentAt, leaseMs);
    this.#endMonotonicMs = Math.min(this.#endMonotonicMs, monotonicMs);
    this.#endWallMs = Math.min(this.#endWallMs, wallMs);
  }

  /** The server has stated exactly this lease. */
  hasStated(sentAt: Instant, leaseMs: number): void {
    const { monotonicMs, wallMs } = leaseDeadline(sentAt, leaseMs);
    this.#endMonotonicMs = monotonicMs;
    this.#endWallMs = wallMs;
  }

  /** The server has made sure of at least this lease. */
  hasStatedAtLeast(sentAt: Instant, leaseMs: number): void {
    const { monotonicMs, wallMs } = leaseDeadline(sentAt, leaseMs);
    this.#endMonotonicMs = Math.max(this.#endMonotonicMs, monotonicMs);
    this.#endWallMs = Math.max(this.#endWallMs, wallMs);
  }

  /** Waits for its turn to state the lease, then does. Resolves to null when the hold ended before its turn. */
  async keep(state: () => Promise<StateResult>): Promise<StateResult | null> {
    while (this.keeping !== null) await this.keeping;
    if (!this.isLive) return null;
    const keeping = state();
    this.keeping = keeping;
    try {
      return await keeping;
    } finally {
      this.keeping = null;
    }
  }

  /** Nobody can release it any more. It ends when its lease does; the work may still be running until then. */
  abandon(): void {
    this.#state = 'abandoned';
    this.renews = false;
  }

  /** Why it is lost when its time runs out. */
  get endsAs(): LossReason {
    return this.#state === 'abandoned' ? 'abandoned' : 'expired';
  }

  /** Whether every lease handed out under it has been thrown away unreleased. */
  isAbandoned(): boolean {
    let isAbandoned = true;
    for (let owner = this.owner; owner !== null; owner = owner.child) {
      if (owner.state === 'held' && !owner.isAbandoned()) isAbandoned = false;
    }
    return isAbandoned;
  }
}
