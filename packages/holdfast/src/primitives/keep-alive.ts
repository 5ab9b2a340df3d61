/** Keeps the process alive from `start` to `stop`, although nothing else may be due. */
import { TIMER_MS_MAX } from '../runtime/clock.ts';
import { Deadline, type TimerQueue } from '../runtime/timer-queue.ts';

export class KeepAlive {
  readonly #timers: TimerQueue;
  readonly #deadline: Deadline = new Deadline(() => this.start(), true);

  constructor(timers: TimerQueue) {
    this.#timers = timers;
  }

  start(): void {
    this.#timers.setIn(this.#deadline, TIMER_MS_MAX);
  }

  stop(): void {
    this.#timers.cancel(this.#deadline);
  }
}
