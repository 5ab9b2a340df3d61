/**
 * What we know of a server's clock, learnt from its replies. It lets an acquire carry the latest server time at
 * which it may still be granted, so that a request stuck in some buffer grants nothing when it arrives after we
 * gave it up.
 */
export class ServerClock {
  #serverMs = 0;
  #heardAtMs = 0;

  /** Notes a server time that came with a reply, heard at our monotonic time. */
  learn(serverMs: number, heardAtMs: number): void {
    this.#serverMs = serverMs;
    this.#heardAtMs = heardAtMs;
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
