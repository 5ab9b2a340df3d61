/**
 * The machine's own clock, for a node that is given none. The only file of this package that reads the time. holdfast-monitor
 * has the same lines: holdfast exports the interface `Clock` and no clock.
 */
import type { Clock } from 'holdfast';

/** The longest delay that Node's timers can hold; a longer one would fire at once. */
export const TIMER_MS_MAX: number = 2 ** 31 - 1;

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  startTimer: (delayMs, fire) => {
    const timeout = setTimeout(fire, delayMs);
    return {
      cancel: () => clearTimeout(timeout),
      ref: () => void timeout.ref(),
      unref: () => void timeout.unref(),
    };
  },
};
