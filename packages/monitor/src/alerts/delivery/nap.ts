/** A sleep that others can end: a new message wakes the courier, a closing monitor ends all waits. */
import type { Clock } from 'holdfast';

export class Nap {
  readonly #clock: Clock;
  #end: (() => void) | null = null;
  /** Woken while awake: the next sleep ends at once, so that no wake-up is lost. */
  #isWoken = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    if (this.#end === null) this.#isWoken = true;
    else this.#end();
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isWoken || signal.aborted) {
      this.#isWoken = false;
      return;
    }
    await new Promise<void>((resolve) => {
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        this.#end = null;
        resolve();
      };
      const timer = this.#clock.startTimer(ms, end);
      // The wait for an alert does not keep a process alive that has nothing else to do.
      timer.unref();
      signal.addEventListener('abort', end, { once: true });
      this.#end = end;
    });
  }
}
