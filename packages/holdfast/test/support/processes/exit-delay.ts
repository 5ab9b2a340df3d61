/**
 * How long a process lives on when it has nothing left to do, by turns of its own event loop: a machine that gives it
 * no core holds it too, and that is nobody's leak.
 */
const TICK_MS = 25;
/** What a late turn may count for. */
const TURN_MS_MAX = 2 * TICK_MS;

export class ExitDelay {
  #ms = 0;
  #lastMs = performance.now();

  constructor() {
    // Whatever holds the process, it is not this.
    setInterval(() => this.#count(), TICK_MS).unref();
  }

  get ms(): number {
    this.#count();
    return this.#ms;
  }

  /** From now on. */
  restart(): void {
    this.#ms = 0;
    this.#lastMs = performance.now();
  }

  #count(): void {
    const nowMs = performance.now();
    this.#ms += Math.min(nowMs - this.#lastMs, TURN_MS_MAX);
    this.#lastMs = nowMs;
  }
}
