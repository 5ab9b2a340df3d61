/** Idioms of waiting, on a session's timer queue: a sleep, and a time limit on somebody else's promise. */
import { Deadline, type TimerQueue } from './timer-queue.ts';

/** Resolves after `delayMs`. The process stays alive until then. */
export function sleep(timers: TimerQueue, delayMs: number): Promise<void> {
  return new Promise((resolve) => timers.setIn(new Deadline(resolve, true), delayMs));
}

/**
 * Settles as the promise does, or as `onTimeout` does when that takes longer than `limitMs`. The promise itself goes on:
 * what it comes to later is ignored, a rejection included. The process stays alive until either has come.
 */
export function within<Result, Late = Result>(
  timers: TimerQueue,
  promise: Promise<Result>,
  limitMs: number,
  onTimeout: () => Late,
): Promise<Result | Late> {
  return new Promise((resolve, reject) => {
    const deadline = new Deadline(() => {
      try {
        resolve(onTimeout());
      } catch (error) {
        reject(error);
      }
    }, true);
    timers.setIn(deadline, limitMs);
    const settle =
      <Value>(end: (value: Value) => void) =>
      (value: Value): void => {
        timers.cancel(deadline);
        end(value);
      };
    promise.then(settle(resolve), settle(reject));
  });
}
