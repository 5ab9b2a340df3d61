/**
 * What one process knows of the primary, so that no sentinel that knows less can lead it back to a server that was
 * replaced. The old primary goes on taking writes for a while after a planned failover, and a sentinel that is cut off
 * from the others goes on naming it.
 */
import type { Clock } from '../../runtime/clock.ts';
import { type Address, type Answer, isSame } from './address.ts';

/**
 * How long sentinels that contradict what we know are not believed. Longer than an old primary goes on taking writes; but
 * sentinels that were set up anew count their epochs from the beginning, and must be believed in the end.
 */
const CONTRADICTED_MS_MAX = 30_000;

export class PrimaryMemory {
  readonly #clock: Clock;
  readonly #isInUse: () => boolean;
  #primary: Address | null = null;
  #epoch = 0;
  #contradictedAtMs: number | null = null;

  /** `isInUse` tells whether there is a connection to the primary that we know. */
  constructor(clock: Clock, isInUse: () => boolean) {
    this.#clock = clock;
    this.#isInUse = isInUse;
  }

  /**
   * Whether the answer is newer than what we know, or agrees with it. An answer of the same epoch may also come from a
   * sentinel that is just replacing the primary that we know.
   */
  believes(answer: Answer): boolean {
    const primary = this.#primary;
    if (primary === null || answer.epoch > this.#epoch) return true;
    if (answer.epoch < this.#epoch) return false;
    return isSame(answer, primary) || isSame(answer.from, primary);
  }

  learn(answer: Answer): void {
    this.#primary = { host: answer.host, port: answer.port };
    this.#epoch = answer.epoch;
    this.#contradictedAtMs = null;
  }

  /** A `+switch-master` message has no epoch. About a server that we do not take for the primary it may be old news. */
  switched(before: Address, after: Address): void {
    if (this.#primary !== null && isSame(before, this.#primary)) this.#primary = after;
  }

  /** Only answers that are not believed have come. Returns whether that has gone on for so long that they must be. */
  contradict(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#isInUse()) {
      this.#contradictedAtMs = null;
      return false;
    }
    this.#contradictedAtMs ??= nowMs;
    return nowMs - this.#contradictedAtMs >= CONTRADICTED_MS_MAX;
  }
}
