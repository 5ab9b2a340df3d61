/**
 * What one process knows of the primary, so that no sentinel that has heard less can lead it back to a server that was
 * replaced. The old one stays in office for a while after a planned failover, and a sentinel that is cut off from the
 * others goes on naming it.
 */
import type { Clock } from '../../runtime/clock.ts';
import { type Address, type Answer, isSame } from './search.ts';

/**
 * After how long of nothing but answers that contradict what we know we give it up. Longer than an old primary stays in
 * office; but sentinels that were set up anew count their epochs from the beginning, and must be believed in the end.
 */
const DOUBT_MS_MAX = 30_000;

export class PrimaryMemory {
  readonly #clock: Clock;
  readonly #isInUse: () => boolean;
  #primary: Address | null = null;
  #epoch = 0;
  #doubtedAtMs: number | null = null;

  /** `isInUse` tells whether there is a connection to the primary that is known. */
  constructor(clock: Clock, isInUse: () => boolean) {
    this.#clock = clock;
    this.#isInUse = isInUse;
  }

  /**
   * Whether it is newer than what is known, or agrees with it. Of the same epoch it may also be that of a sentinel that
   * is just replacing the primary that we know.
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
    this.#doubtedAtMs = null;
  }

  /** The news tells no epoch. When it is of a server that we do not take for the primary, it may be old news. */
  hear(before: Address, after: Address): void {
    if (this.#primary !== null && isSame(before, this.#primary)) this.#primary = after;
  }

  /** Only answers that are not believed have come. Gives whether that has gone on for so long that they must be. */
  doubt(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#isInUse()) {
      this.#doubtedAtMs = null;
      return false;
    }
    this.#doubtedAtMs ??= nowMs;
    return nowMs - this.#doubtedAtMs >= DOUBT_MS_MAX;
  }
}
