/**
 * Real time that runs faster for timers: a test of delivery must not wait for the ten seconds that a receiver may hang,
 * nor for the seconds of a backoff.
 */
import type { Clock } from 'holdfast';
import { systemClock } from '../../../src/alerts/system-clock.ts';

/** `times` faster than the wall. */
export function hurriedClock(times: number): Clock {
  return {
    monotonicMs: () => systemClock.monotonicMs() * times,
    wallMs: () => systemClock.wallMs(),
    startTimer: (delayMs, fire) => systemClock.startTimer(delayMs / times, fire),
  };
}
