/**
 * The machine's own clock. Everything else in this folder is given a `Clock`, so that tests can stop time. holdfast-testing
 * has the same lines: holdfast exports the interface `Clock` and no clock.
 */
import type { Clock } from 'holdfast';

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
