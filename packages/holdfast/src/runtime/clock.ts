/**
 * The only place that reads time or arms a timer. Everything else is handed a `Clock`, which is what lets
 * a test stop time and a simulator run a year in a second.
 *
 * In this folder: what every layer may use: time, chance, timers, assertions, text that is safe to print, and small
 * collections. All layers import from here; this layer imports no other.
 */

/** A timer armed on a clock. */
export interface Timer {
  /** Disarms it. Harmless when it has fired. */
  cancel(): void;
  /** Keeps the process alive until it fires. */
  ref(): void;
  /** Lets the process exit although it has not fired. */
  unref(): void;
}

export interface Clock {
  /** Milliseconds that never run backwards. They may stand still while the machine is suspended. */
  monotonicMs(): number;
  /** Milliseconds since 1970 as the machine believes. They may jump either way. */
  wallMs(): number;
  /** Calls back once, after at least `delayMs`, which is at most `TIMER_MS_MAX`. */
  startTimer(delayMs: number, fire: () => void): Timer;
}

/** The longest delay that Node's timers can hold; a longer one would fire at once. */
export const TIMER_MS_MAX: number = 2 ** 31 - 1;

class SystemTimer implements Timer {
  readonly #timeout: NodeJS.Timeout;

  constructor(delayMs: number, fire: () => void) {
    this.#timeout = setTimeout(fire, delayMs);
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  ref(): void {
    this.#timeout.ref();
  }

  unref(): void {
    this.#timeout.unref();
  }
}

/** The machine's own clock. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  startTimer: (delayMs, fire) => new SystemTimer(delayMs, fire),
};
