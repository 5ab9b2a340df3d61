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

  /** With how old a sample may get before it is asked for again. */
  constructor(sampleMsMax: number = SAMPLE_MS_MAX) {
    this.#sampleMsMax = sampleMsMax;
  }

  /** Notes a server time that came with a reply, heard at our monotonic time. */
  learn(serverMs: number, heardAtMs: number): void {
    this.#serverMs = serverMs;
    this.#heardAtMs = heardAtMs;
    this.#isDoubted = false;
  }

  /** It may be otherwise than we have it: to be asked for with the next call. */
  doubt(): void {
    this.#isDoubted = true;
  }

  /** Whether it is time to ask again. */
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
   * The same in microseconds, and less by what our clock may have gained on the server's since it was told; 0 also when
   * that is long ago.
   */
  microsAt(monotonicMs: number): number {
    const ageMs = monotonicMs - this.#heardAtMs;
    if (this.#serverMs === 0 || ageMs > SAMPLE_MS_MAX) return 0;
    return Math.max(1, Math.floor((this.#serverMs + ageMs * (1 - SLEW_SHARE)) * 1_000));
  }
}

/**
 * The middle one of what several servers' clocks show, in microseconds; 0 when none is known. Those of a minority may be
 * far off.
 */
export function middleMicros(clocks: readonly ServerClock[], monotonicMs: number): number {
  const known = clocks.map((clock) => clock.microsAt(monotonicMs)).filter((micros) => micros > 0);
  return known.sort((a, b) => a - b)[Math.floor((known.length - 1) / 2)] ?? 0;
}
