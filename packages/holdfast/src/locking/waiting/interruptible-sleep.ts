/**
 * A sleep that a message can end. A message that comes while nobody sleeps is kept, and ends the next sleep at once:
 * it came while an attempt was under way, whose answer may be older than the message.
 */
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import type { WakeReason } from '../../telemetry/channels.ts';

export class InterruptibleSleep {
  readonly #timers: TimerQueue;
  /** What was heard since `forget`, while nobody slept. */
  #heard: WakeReason | null = null;
  /** When the next sleep ends at the latest, as was heard since `forget` while nobody slept. */
  #wakeAtMs = Number.POSITIVE_INFINITY;
  #end: ((reason: WakeReason | null) => void) | null = null;
  #deadline: Deadline | null = null;

  constructor(timers: TimerQueue) {
    this.#timers = timers;
  }

  /** Sleeps for at most `delayMs`, keeping the process alive. Null when `stop` ended it. */
  sleep(delayMs: number): Promise<WakeReason | null> {
    if (this.#heard !== null) return Promise.resolve(this.#heard);
    return new Promise((resolve) => {
      const deadline = new Deadline(() => this.#end?.('time'), true);
      this.#deadline = deadline;
      this.#end = (reason) => {
        this.#end = null;
        this.#deadline = null;
        this.#timers.cancel(deadline);
        resolve(reason);
      };
      const toldMs = Math.max(0, this.#wakeAtMs - this.#timers.clock.monotonicMs());
      this.#timers.setIn(deadline, Math.min(delayMs, toldMs));
    });
  }

  wake(reason: WakeReason): void {
    if (this.#end === null) this.#heard = reason;
    else this.#end(reason);
  }

  /** The present sleep, or else the next one, ends in `delayMs`. */
  wakeIn(delayMs: number): void {
    if (this.#deadline !== null) this.#timers.setIn(this.#deadline, delayMs);
    else this.#wakeAtMs = this.#timers.clock.monotonicMs() + delayMs;
  }

  /** What was heard so far needs nobody to wake up. */
  forget(): void {
    this.#heard = null;
    this.#wakeAtMs = Number.POSITIVE_INFINITY;
  }

  stop(): void {
    this.forget();
    this.#end?.(null);
  }
}
