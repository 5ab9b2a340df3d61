/**
 * What we know of a server's clock, learnt from its replies. It lets an acquire carry the latest server time at
 * which it may still be granted, so that a request stuck in some buffer grants nothing when it arrives after we
 * gave it up.
 */

/** How old a sample may get. Clocks that agree to 1 % drift apart by a tenth of a second in that time. */
const SAMPLE_MS_MAX = 10_000;

export class ServerClock {
  #serverMs = 0;
  #heardAtMs = 0;

  /** Notes a server time that came with a reply, heard at our monotonic time. */
  learn(serverMs: number, heardAtMs: number): void {
    this.#serverMs = serverMs;
    this.#heardAtMs = heardAtMs;
  }

  /** Whether it is time to ask again. */
  isStale(monotonicMs: number): boolean {
    return this.#serverMs === 0 || monotonicMs - this.#heardAtMs > SAMPLE_MS_MAX;
  }

  /**
   * The server's time at our monotonic moment, or 0 when unknown. Never later than the truth: the reply was
   * written before we heard it.
   */
  at(monotonicMs: number): number {
    if (this.#serverMs === 0) return 0;
    return Math.max(1, Math.floor(this.#serverMs + (monotonicMs - this.#heardAtMs)));
  }
}
