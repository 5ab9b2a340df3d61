/** Notices that the machine has slept: the wall clock gains on the monotonic one, which may stand still meanwhile. */
import type { Clock } from '../runtime/clock.ts';
import type { Instant } from '../runtime/instant.ts';

/** A wall clock that gains less than this between two looks is being adjusted, not jumping. */
const CLOCK_JUMP_MS = 50;

export class ClockJump {
  readonly #clock: Clock;
  /** Wall minus monotonic at the last look. */
  #gapMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What was before that moment does not count. */
  startFrom({ wallMs, monotonicMs }: Instant): void {
    this.#gapMs = wallMs - monotonicMs;
  }

  /** Whether the wall clock has jumped ahead since the last look. */
  hasHappened(): boolean {
    const gapMs = this.#clock.wallMs() - this.#clock.monotonicMs();
    const isAhead = gapMs - this.#gapMs > CLOCK_JUMP_MS;
    this.#gapMs = gapMs;
    return isAhead;
  }
}
