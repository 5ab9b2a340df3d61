/** Time that moves only when a test moves it. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, TIMER_MS_MAX, type Timer } from '../../src/runtime/clock.ts';

/** More than any honest test fires in one step; a timer that re-arms itself for no delay ends here. */
const FIRINGS_MAX = 1_000_000;

class FakeTimer implements Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly fire: () => void;
  isRefd = true;
  readonly #disarm: (timer: FakeTimer) => void;

  constructor(dueMs: number, order: number, fire: () => void, disarm: (timer: FakeTimer) => void) {
    this.dueMs = dueMs;
    this.order = order;
    this.fire = fire;
    this.#disarm = disarm;
  }

  cancel(): void {
    this.#disarm(this);
  }

  ref(): void {
    this.isRefd = true;
  }

  unref(): void {
    this.isRefd = false;
  }
}

export class FakeClock implements Clock {
  readonly #timers = new Set<FakeTimer>();
  #monotonicMs: number;
  #wallMs: number;
  #timersMade = 0;

  /** The two times start apart, so that code which takes one for the other goes wrong at once. */
  constructor({ monotonicMs = 1_000, wallMs = Date.UTC(2030, 0, 1) } = {}) {
    this.#monotonicMs = monotonicMs;
    this.#wallMs = wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  startTimer(delayMs: number, fire: () => void): Timer {
    if (!(delayMs >= 0 && delayMs <= TIMER_MS_MAX)) {
      throw new RangeError(`a timer is armed for 0 to ${TIMER_MS_MAX} ms, got ${delayMs}`);
    }
    this.#timersMade += 1;
    const timer = new FakeTimer(this.#monotonicMs + delayMs, this.#timersMade, fire, (disarmed) => {
      this.#timers.delete(disarmed);
    });
    this.#timers.add(timer);
    return timer;
  }

  /** Timers armed and not fired. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Of those, the ones that keep a process alive. */
  get refdTimers(): number {
    return [...this.#timers].filter((timer) => timer.isRefd).length;
  }

  /** How long until the next timer is due: 0 when overdue, undefined when there is none. */
  get nextTimerMs(): number | undefined {
    const next = this.#next();
    return next === undefined ? undefined : Math.max(0, next.dueMs - this.#monotonicMs);
  }

  /**
   * Time passes as in an idle process: each timer fires at its own time, in order, and what it set in motion
   * settles before the next one, which may be a timer armed on the way.
   */
  async advance(ms: number): Promise<void> {
    const endMs = this.#monotonicMs + forward(ms);
    await this.settle();
    for (let firings = 0; ; firings += 1) {
      const timer = this.#next();
      if (timer === undefined || timer.dueMs > endMs) break;
      if (firings === FIRINGS_MAX) throw new Error(`more than ${FIRINGS_MAX} timers fired within ${ms} ms`);
      this.#pass(Math.max(0, timer.dueMs - this.#monotonicMs));
      this.#timers.delete(timer);
      timer.fire();
      await this.settle();
    }
    this.#pass(endMs - this.#monotonicMs);
    await this.settle();
  }

  /** Time passes under a blocked event loop: nothing fires until the next `advance`, `advance(0)` included. */
  advanceSync(ms: number): void {
    this.#pass(forward(ms));
  }

  /** The machine sleeps: the wall clock moves on, the monotonic one stands still, no timer comes nearer. */
  suspend(ms: number): void {
    this.#wallMs += forward(ms);
  }

  /** Somebody sets the wall clock, either way. */
  jumpWall(ms: number): void {
    this.#wallMs += ms;
  }

  /** Lets promise chains and ticks that are under way run to their end. No time passes. */
  async settle(): Promise<void> {
    await nextTurn();
  }

  #pass(ms: number): void {
    this.#monotonicMs += ms;
    this.#wallMs += ms;
  }

  #next(): FakeTimer | undefined {
    let next: FakeTimer | undefined;
    for (const timer of this.#timers) {
      const isSooner = next === undefined || timer.dueMs < next.dueMs;
      if (isSooner || (timer.dueMs === next?.dueMs && timer.order < next.order)) next = timer;
    }
    return next;
  }
}

function forward(ms: number): number {
  if (!(ms >= 0)) throw new RangeError(`time moves forward, got ${ms} ms`);
  return ms;
}
