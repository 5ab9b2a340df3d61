/**
 * Attempts to get a hold, and the holder id that each is made under: a fresh id for each attempt, or one for a whole
 * wait (`holderPer` of the kind). An attempt that may have been granted without our knowing is repeated under its own
 * id, with the same fences, until that id is granted or abandoned: safety rule 5.
 */
import type { ResolvedLocksOptions } from '../../options/options.ts';
import type { HolderIds, HoldTerms, Protocol } from '../../topologies/protocol.ts';
import type { AcquireResult, Topology } from '../../topologies/topology.ts';
import type { Broken, Refusal } from '../failures.ts';

/** A caller with a very short wait still gives the server this long to answer: it asked not to queue, not to fail. */
const ATTEMPT_MS_MIN = 250;

/**
 * Fences for hand-overs to callers who come while the lock is held. Always asked for, also by a caller that is alone
 * now. Fences are microseconds of the server's time, so a block that is longer than its hold lasts raises the counter
 * faster than the clock. A hold lasts two round trips, which take 65 µs at least: this many cost nothing. Whoever is
 * faster (releases without waiting for the answer) is stopped by the server, whose blocks end at most 1 ms past its time.
 */
export const SPARE_FENCES = 64;

/** What an attempt brought. */
export interface Grant {
  readonly is: 'granted';
  readonly terms: HoldTerms;
  readonly answer: Extract<AcquireResult, { is: 'granted' }>;
}

export interface AttemptServices {
  readonly topology: Topology;
  readonly options: ResolvedLocksOptions;
  readonly holderIds: HolderIds;
}

export class Attempts {
  readonly #services: AttemptServices;
  readonly #protocol: Protocol;
  /** The terms of the last attempt. Null: the next attempt is made under a fresh holder id. */
  #terms: HoldTerms | null = null;
  /** Whether servers may have granted those terms without our knowing. */
  #isOpen = false;

  constructor(services: AttemptServices, protocol: Protocol) {
    this.#services = services;
    this.#protocol = protocol;
  }

  /** One attempt, for a caller who waits for `waitMs`, with `behind` more callers of this process in the queue. */
  async make(leaseMs: number, waitMs: number, behind: number): Promise<Grant | Refusal | Broken> {
    const { topology, options } = this.#services;
    const terms = this.#terms === null ? this.#fresh(leaseMs, behind) : { ...this.#terms, leaseMs };
    const wasOpen = this.#isOpen;
    this.#terms = terms;
    this.#isOpen = true;
    const timeoutMs = Math.min(options.callTimeoutMs, Math.max(waitMs, ATTEMPT_MS_MIN));
    const answer = await topology
      .acquire(this.#protocol, terms, timeoutMs)
      .catch((error: unknown): Broken => ({ is: 'broken', error }));
    if (answer.is === 'granted') {
      this.#forget();
      return { is: 'granted', terms, answer };
    }
    if (answer.is === 'failed') {
      // Nothing of this holder is left, or the topology is giving it back: the holder id is never used again.
      if (!answer.mayBeGranted) this.#forget();
    } else if (answer.is !== 'broken' && !wasOpen && this.#protocol.policy.holderPer === 'attempt') {
      this.#forget();
    }
    return answer;
  }

  #fresh(leaseMs: number, behind: number): HoldTerms {
    const { options, holderIds } = this.#services;
    const fences = 1 + Math.min(options.handovers, Math.max(behind, SPARE_FENCES));
    return { holder: this.#protocol.newHolder(holderIds), leaseMs, fences };
  }

  /** Nobody wants what may have been granted: the servers are made to forget the holder. */
  abandon(): void {
    const terms = this.#isOpen ? this.#terms : null;
    // First: a subscriber that hears of a late release may come for the same lock, and must not get this holder.
    this.#forget();
    if (terms !== null) this.#services.topology.abandon(this.#protocol, terms);
  }

  #forget(): void {
    this.#terms = null;
    this.#isOpen = false;
  }
}
