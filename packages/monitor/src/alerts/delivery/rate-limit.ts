/** How many messages a receiver may be sent. Chats and pagers cut off whoever sends more. */
import type { Clock } from 'holdfast';

const MESSAGES_MAX = 30;
const PERIOD_MS = 60_000;

export class RateLimit {
  readonly #clock: Clock;
  readonly #sentAtMs: number[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long until the next message may be sent; 0: now. */
  get waitMs(): number {
    const nowMs = this.#clock.monotonicMs();
    while ((this.#sentAtMs[0] ?? nowMs) <= nowMs - PERIOD_MS) this.#sentAtMs.shift();
    const [first = nowMs] = this.#sentAtMs;
    return this.#sentAtMs.length < MESSAGES_MAX ? 0 : first + PERIOD_MS - nowMs;
  }

  count(): void {
    this.#sentAtMs.push(this.#clock.monotonicMs());
  }
}
