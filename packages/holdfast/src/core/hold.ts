/**
 * One global acquisition, from grant to release, possibly serving several local owners in turn.
 *
 * It is valid until its deadline by our own clocks and not a moment longer, whatever the server may still say.
 * Requests that state its lease (renewals, re-entries, extensions) go one at a time (`keeping`): two of them in
 * flight would leave open which lease the server has, and the deadline must never be later than that one's end.
 */
import type { LossReason } from '../errors.ts';
import type { KeepResult, Protocol, ReleaseTerms, Strays } from '../topologies/topology.ts';
import type { Clock } from './clock.ts';
import type { HeapItem } from './heap.ts';
import { earlierOf, type Instant, laterOf, leaseDeadline, remainingMs } from './instant.ts';
import type { Owner } from './owner.ts';

/** Who looks after a hold: takes it back from an owner, and is told when it ends by itself. */
export interface HoldWarden {
  release(owner: Owner): Promise<boolean>;
  holdLost(hold: Hold, reason: LossReason): void;
}

export interface HoldGrant {
  readonly protocol: Protocol;
  readonly holder: string;
  readonly leaseMs: number;
  readonly renews: boolean;
  readonly deadline: Instant;
  readonly firstFence: number | undefined;
  readonly handovers: number;
  readonly grantedMs: number;
  /** Earlier acquires of this holder without an answer. */
  readonly strays: Strays;
  readonly warden: HoldWarden;
}

export class Hold implements HeapItem {
  readonly protocol: Protocol;
  readonly holder: string;
  readonly grantedMs: number;
  readonly strays: Strays;
  readonly warden: HoldWarden;
  /** The end of its block of fences. */
  readonly lastFence: number | undefined;
  /** For the renewal heap: when it next needs attention. */
  dueMs = 0;
  heapIndex = -1;
  /** When the next renewal should go out; only meaningful while `renews`. */
  renewAtMs = 0;
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
  #deadline: Instant;
  #nextFence: number | undefined;
  #isLive = true;
  #wasLost = false;

  constructor(grant: HoldGrant) {
    this.protocol = grant.protocol;
    this.holder = grant.holder;
    this.grantedMs = grant.grantedMs;
    this.strays = grant.strays;
    this.warden = grant.warden;
    this.leaseMs = grant.leaseMs;
    this.longestMs = Math.max(grant.leaseMs, grant.strays.leaseMs);
    this.renews = grant.renews;
    this.handoversLeft = grant.handovers;
    this.lastFence = grant.firstFence === undefined ? undefined : grant.firstFence + grant.handovers;
    this.#deadline = grant.deadline;
    this.#nextFence = grant.firstFence;
  }

  /** Neither released nor lost. It may have run out all the same: see `remainingMs`. */
  get isLive(): boolean {
    return this.#isLive;
  }

  get deadline(): Instant {
    return this.#deadline;
  }

  remainingMs(clock: Clock): number {
    return remainingMs(this.#deadline, clock);
  }

  isValid(clock: Clock): boolean {
    return this.#isLive && this.remainingMs(clock) > 0;
  }

  /** Whether an earlier acquire of this holder may still be on its way to the server. */
  hasStrays(clock: Clock): boolean {
    return this.strays.count > 0 && clock.monotonicMs() < this.strays.untilMs;
  }

  /** What its release states. */
  get releaseTerms(): ReleaseTerms {
    return { holder: this.holder, leaseMs: this.longestMs };
  }

  /** Whether it ended by loss rather than by release. */
  get wasLost(): boolean {
    return this.#wasLost;
  }

  end(wasLost: boolean): void {
    this.#isLive = false;
    this.#wasLost = wasLost;
  }

  /** The next of the block of fences that came with the grant. */
  takeFence(): number | undefined {
    if (this.#nextFence === undefined) return undefined;
    this.#nextFence += 1;
    return this.#nextFence - 1;
  }

  /**
   * Before a lease is stated: if the request shortens it and its answer is lost, the server may already have the
   * shorter one. So the deadline moves down before sending, and only an answer moves it up.
   */
  willState(sentAt: Instant, leaseMs: number): void {
    this.longestMs = Math.max(this.longestMs, leaseMs);
    this.#deadline = earlierOf(this.#deadline, leaseDeadline(sentAt, leaseMs));
  }

  /** The server has stated exactly this lease. */
  hasStated(sentAt: Instant, leaseMs: number): void {
    this.#deadline = leaseDeadline(sentAt, leaseMs);
  }

  /** The server has made sure of at least this lease. */
  hasStatedAtLeast(sentAt: Instant, leaseMs: number): void {
    this.#deadline = laterOf(this.#deadline, leaseDeadline(sentAt, leaseMs));
  }

  /** Waits for its turn to state the lease, then does. Resolves to null when the hold ended before its turn. */
  async keep(state: () => Promise<KeepResult>): Promise<KeepResult | null> {
    while (this.keeping !== null) await this.keeping;
    if (!this.#isLive) return null;
    const keeping = state();
    this.keeping = keeping;
    try {
      return await keeping;
    } finally {
      this.keeping = null;
    }
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
