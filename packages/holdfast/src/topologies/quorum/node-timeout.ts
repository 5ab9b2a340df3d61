/** How long one of several servers may take to answer: by the lease that is asked for, and by how fast it has been. */

/** A server's answer may take this share of the lease, within bounds: five of them must fit many times over. */
const TIMEOUT_SHARE = 1 / 200;
const TIMEOUT_MS_MIN = 5;
const TIMEOUT_MS_MAX = 50;

/** A far or busy server gets this many times what it has taken lately. */
const TIMEOUT_LATENCIES = 4;

/** How much the last answer counts in what a server has taken lately. */
const LATENCY_SHARE = 0.2;

/** But never more than this share of the lease: past it an attempt is not worth having. */
const TIMEOUT_SHARE_MAX = 1 / 4;

export class NodeTimeout {
  /** What the caller has chosen, or null. */
  readonly #chosenMs: number | null;
  #latencyMs = 0;

  constructor(chosenMs: number | null) {
    this.#chosenMs = chosenMs;
  }

  /** For a call about a lease of that length, which may take `limitMs` at most. */
  forLease(leaseMs: number, limitMs: number): number {
    const byLeaseMs = Math.min(Math.max(leaseMs * TIMEOUT_SHARE, TIMEOUT_MS_MIN), TIMEOUT_MS_MAX);
    const bySpeedMs = Math.min(this.#latencyMs * TIMEOUT_LATENCIES, leaseMs * TIMEOUT_SHARE_MAX);
    return Math.min(this.#chosenMs ?? Math.max(byLeaseMs, bySpeedMs), limitMs);
  }

  /** A first guess, with a handshake in it perhaps; the answers that follow put it right. */
  guess(tookMs: number): void {
    this.#latencyMs = tookMs;
  }

  /** An answer took this long. */
  note(tookMs: number): void {
    this.#latencyMs += (tookMs - this.#latencyMs) * LATENCY_SHARE;
  }
}
