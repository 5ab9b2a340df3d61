/** Delays between retries: doubling, with jitter so that many clients do not come back together. */
import type { Random } from './random.ts';

/** The first retry comes soon: most faults are a connection that is back at once. */
const BACKOFF_MS_MIN = 20;

/** The slowest pace: a server that is back is found within a second. */
const BACKOFF_MS_MAX = 1_000;

export class Backoff {
  readonly #random: Random;
  #stepMs = BACKOFF_MS_MIN;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The next delay: between half a step and a whole one. */
  nextMs(): number {
    const stepMs = this.#stepMs;
    this.#stepMs = Math.min(stepMs * 2, BACKOFF_MS_MAX);
    return stepMs * (0.5 + this.#random.fraction() / 2);
  }

  reset(): void {
    this.#stepMs = BACKOFF_MS_MIN;
  }
}
