/**
 * What we know of a server's clock, learnt from its replies. It lets an acquire carry the latest server time at
 * which it may still be granted, so that a request stuck in some buffer grants nothing when it arrives after we
 * gave it up; and several servers be told one time to begin their fences from.
 */

/** How old a sample may get. Clocks that agree to 1 % drift apart by a tenth of a second in that time. */
const SAMPLE_MS_MAX = 10_000;

/** How much a clock that is kept right is sped up or slowed down at most: as far as a kernel lets NTP go. */
const SLEW_SHARE = 0.0005;

export class ServerClock {
  readonly #sampleMsMax: number;
  #serverMs = 0;
  #heardAtMs = 0;
  #isDoubted = false;

  /** `sampleMsMax` is how old a sample may get before the server is asked for its time again. */
  constructor(sampleMsMax: number = SAMPLE_MS_MAX) {
    this.#sampleMsMax = sampleMsMax;
  }

  /** Notes a server time that came with a reply, heard at our monotonic time. */
  learn(serverMs: number, heardAtMs: number): void {
    this.#serverMs = serverMs;
    this.#heardAtMs = heardAtMs;
    this.#isDoubted = false;
  }

  /** The server's clock may not be as we have it: the next call asks for its time. */
  doubt(): void {
    this.#isDoubted = true;
  }

  /** Whether the next call should ask for the server's time. */
  isStale(monotonicMs: number): boolean {
    return this.#serverMs === 0 || this.#isDoubted || monotonicMs - this.#heardAtMs > this.#sampleMsMax;
  }

  /**
   * The server's time at our monotonic moment, or 0 when unknown. Never later than the truth: the reply was
   * written before we heard it.
   */
  at(monotonicMs: number): number {
    if (this.#serverMs === 0) return 0;
    return Math.max(1, Math.floor(this.#serverMs + (monotonicMs - this.#heardAtMs)));
  }

  /**
   * `at` in microseconds, less what our clock may have gained on the server's since the last sample; 0 also when that sample
   * is too old.
   */
  microsAt(monotonicMs: number): number {
    const ageMs = monotonicMs - this.#heardAtMs;
    if (this.#serverMs === 0 || ageMs > SAMPLE_MS_MAX) return 0;
    return Math.max(1, Math.floor((this.#serverMs + ageMs * (1 - SLEW_SHARE)) * 1_000));
  }
}

/**
 * The median of what several servers' clocks show, in microseconds; 0 when no clock is known. The clocks of a minority
 * may be far off.
 */
export function middleMicros(clocks: readonly ServerClock[], monotonicMs: number): number {
  return middleOf(clocks.map((clock) => clock.microsAt(monotonicMs)));
}

/** As `middleMicros`, in milliseconds, and however long ago the servers said their time. */
export function middleMs(clocks: readonly ServerClock[], monotonicMs: number): number {
  return middleOf(clocks.map((clock) => clock.at(monotonicMs)));
}

/** The lower median of what is known; 0 is not. */
function middleOf(times: readonly number[]): number {
  const known = times.filter((time) => time > 0).toSorted((a, b) => a - b);
  return known[Math.floor((known.length - 1) / 2)] ?? 0;
}
