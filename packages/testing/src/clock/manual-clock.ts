/**
 * A clock that moves only when a test moves it.
 *
 * In this folder: the two clocks of a node. Only `index.ts` and `node/` import from here.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock, Timer } from 'holdfast';
import { assertDuration, describe } from '../checks.ts';
import { TIMER_MS_MAX } from './system-clock.ts';

/** More timers than any sensible test fires in one step. The limit ends a timer that starts itself again with no delay. */
const FIRINGS_MAX = 1_000_000;

class ManualTimer implements Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly fire: () => void;
  readonly #timers: Set<ManualTimer>;

  constructor(dueMs: number, order: number, fire: () => void, timers: Set<ManualTimer>) {
    this.dueMs = dueMs;
    this.order = order;
    this.fire = fire;
    this.#timers = timers;
    timers.add(this);
  }

  cancel(): void {
    this.#timers.delete(this);
  }

  /** Does nothing, like `unref`: a manual timer never keeps the process alive. */
  ref(): void {}

  unref(): void {}
}

/**
 * A clock for `EmbeddedNode` and `Locks`: half a minute of waiting, renewing and expiring takes a moment.
 *
 * @example
 * const clock = new ManualClock();
 * const node = new EmbeddedNode({ clock });
 * const locks = new Locks(node.client(), { clock });
 */
export class ManualClock implements Clock {
  readonly #timers = new Set<ManualTimer>();
  #elapsedMs = 0;
  #wallMs: number;
  #made = 0;

  /** Starts at a time of day, in milliseconds since 1970. */
  constructor(wallMs: number = Date.UTC(2030, 0, 1)) {
    if (!Number.isFinite(wallMs))
      throw new TypeError(`expected wallMs to be a finite number, got ${describe(wallMs)}`);
    this.#wallMs = wallMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  startTimer(delayMs: number, fire: () => void): Timer {
    if (!(delayMs >= 0 && delayMs <= TIMER_MS_MAX))
      throw new RangeError(`expected a delay from 0 to ${TIMER_MS_MAX} ms, got ${describe(delayMs)}`);
    this.#made += 1;
    return new ManualTimer(this.#elapsedMs + delayMs, this.#made, fire, this.#timers);
  }

  /**
   * Lets time pass. Timers fire in order, each at its own time, and the promises that a timer settles inside the process
   * are run before the next timer fires. Replies over a socket are not awaited: use the clock with `node.client()`.
   */
  async advance(ms: number): Promise<void> {
    assertDuration(ms);
    const endMs = this.#elapsedMs + ms;
    await nextTurn();
    for (let firings = 0; ; firings += 1) {
      const timer = this.#next();
      if (timer === undefined || timer.dueMs > endMs) break;
      if (firings === FIRINGS_MAX) throw new Error(`more than ${FIRINGS_MAX} timers fired within ${ms} ms`);
      this.#pass(Math.max(0, timer.dueMs - this.#elapsedMs));
      timer.cancel();
      timer.fire();
      await nextTurn();
    }
    this.#pass(endMs - this.#elapsedMs);
    await nextTurn();
  }

  #pass(ms: number): void {
    this.#elapsedMs += ms;
    this.#wallMs += ms;
  }

  #next(): ManualTimer | undefined {
    let next: ManualTimer | undefined;
    for (const timer of this.#timers) {
      const isSooner = next === undefined || timer.dueMs < next.dueMs;
      if (isSooner || (timer.dueMs === next?.dueMs && timer.order < next.order)) next = timer;
    }
    return next;
  }
}
