/** Whether the Redis that holds the state of the alerts answers. One lost call is no outage. */
import type { Clock } from 'holdfast';

/** Failures for this long are an outage. */
const AWAY_AFTER_MS = 3_000;

export class StateHealth {
  readonly #clock: Clock;
  #failingSinceMs: number | null = null;
  #reason: string | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isAway(): boolean {
    return this.#failingSinceMs !== null && this.#clock.monotonicMs() - this.#failingSinceMs >= AWAY_AFTER_MS;
  }

  /** Why, as one line; null while it answers. */
  get reason(): string | null {
    return this.#reason;
  }

  answered(): void {
    this.#failingSinceMs = null;
    this.#reason = null;
  }

  failed(reason: string): void {
    this.#failingSinceMs ??= this.#clock.monotonicMs();
    this.#reason = reason;
  }
}
