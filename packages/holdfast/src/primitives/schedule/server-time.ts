/** The server's time as a job sees it: what the last reply said, and what has passed since. No wall clock is read. */
import type { Clock } from '../../runtime/clock.ts';

export class ServerTime {
  readonly #clock: Clock;
  #serverMs: number | null = null;
  #heardAtMs = 0;
  #firstMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes the time that came with a reply, which was heard just now. */
  learn(serverMs: number): void {
    this.#serverMs = serverMs;
    this.#heardAtMs = this.#clock.monotonicMs();
    this.#firstMs ??= serverMs;
  }

  /** Null until a server has answered. Never later than the truth, unless the server's clock was set back. */
  get nowMs(): number | null {
    if (this.#serverMs === null) return null;
    return Math.floor(this.#serverMs + this.#clock.monotonicMs() - this.#heardAtMs);
  }

  /** How old the last sample is. */
  get ageMs(): number {
    return this.#clock.monotonicMs() - this.#heardAtMs;
  }

  /** Whether this process has seen the server's time before that moment. */
  hasSeenBefore(ms: number): boolean {
    return this.#firstMs !== null && this.#firstMs < ms;
  }
}
