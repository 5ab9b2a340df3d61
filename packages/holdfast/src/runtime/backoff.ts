/** Delays between retries: doubling, with jitter so that many clients do not come back together. */
import type { Random } from './random.ts';

export interface BackoffRange {
  /** The first step. */
  readonly minMs: number;
  /** The longest step. */
  readonly maxMs: number;
}

/**
 * For a retry against a server: the first comes soon, because most faults are a connection that is back at once; and a
 * server that is back is found within a second.
 */
const RETRY_RANGE: BackoffRange = { minMs: 20, maxMs: 1_000 };

export class Backoff {
  readonly #random: Random | null;
  readonly #range: BackoffRange;
  #stepMs: number;

  /** Without a `random` there is no jitter: each delay is a whole step. */
  constructor(random: Random | null, range: BackoffRange = RETRY_RANGE) {
    this.#random = random;
    this.#range = range;
    this.#stepMs = range.minMs;
  }

  /** The next delay: between half a step and a whole one, or a whole one without jitter. */
  nextMs(): number {
    const stepMs = this.#stepMs;
    this.#stepMs = Math.min(stepMs * 2, this.#range.maxMs);
    return this.#random === null ? stepMs : stepMs * (0.5 + this.#random.fraction() / 2);
  }

  reset(): void {
    this.#stepMs = this.#range.minMs;
  }
}
