/**
 * Everything a session must do later, behind one timer: call deadlines, waits, sleeps, renewals, losses.
 *
 * One timer for thousands of deadlines keeps an uncontended acquire free of timer work: setting and cancelling a
 * deadline moves a few numbers in a heap and leaves the armed timer alone unless the deadline is the earliest. A timer
 * that fires with nothing due just goes back to sleep, or away.
 *
 * The timer keeps the process alive only while a deadline does that says so (`keepsAlive`): a call in flight or
 * a waiter does, a renewal does not.
 */
import { assert } from './assert.ts';
import { type Clock, TIMER_MS_MAX, type Timer } from './clock.ts';
import { Heap, type HeapItem } from './heap.ts';

/** Something to do at a time. Make it once, set it as often as needed. */
export class Deadline implements HeapItem {
  heapIndex = -1;
  readonly fire: () => void;
  readonly keepsAlive: boolean;

  constructor(fire: () => void, keepsAlive: boolean) {
    this.fire = fire;
    this.keepsAlive = keepsAlive;
  }

  get isSet(): boolean {
    return this.heapIndex >= 0;
  }
}

export class TimerQueue {
  readonly #clock: Clock;
  readonly #heap = new Heap<Deadline>();
  #timer: Timer | null = null;
  #timerDueMs = 0;
  #holders = 0;
  #isFiring = false;
  #isRetired = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get clock(): Clock {
    return this.#clock;
  }

  /** How many deadlines are set, for leak checks. */
  get size(): number {
    return this.#heap.size;
  }

  /** Sets the deadline to fire `delayMs` from now; a set deadline is moved. */
  setIn(deadline: Deadline, delayMs: number): void {
    this.setAt(deadline, this.#clock.monotonicMs() + Math.max(0, delayMs));
  }

  /** Sets the deadline to fire at a monotonic time; a set deadline is moved. */
  setAt(deadline: Deadline, dueMs: number): void {
    assert(Number.isFinite(dueMs), () => `a deadline is due at a finite time, got ${dueMs}`);
    if (!deadline.isSet && deadline.keepsAlive) this.#hold(1);
    this.#heap.put(deadline, dueMs);
    if (!this.#isFiring && (this.#timer === null || dueMs < this.#timerDueMs)) this.#arm();
  }

  cancel(deadline: Deadline): void {
    if (!deadline.isSet) return;
    this.#heap.remove(deadline);
    if (deadline.keepsAlive) this.#hold(-1);
    if (this.#isRetired) this.#dropIdleTimer();
  }

  /** No new work is coming: what is set still fires, because somebody may be waiting for it; then the timer goes. */
  retire(): void {
    this.#isRetired = true;
    this.#dropIdleTimer();
  }

  #dropIdleTimer(): void {
    if (!this.#isRetired || this.#heap.size > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #hold(change: 1 | -1): void {
    const before = this.#holders;
    this.#holders += change;
    if (before === 0) this.#timer?.ref();
    else if (this.#holders === 0) this.#timer?.unref();
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#heap.size === 0) return;
    const dueMs = this.#heap.firstDueMs;
    const delayMs = Math.max(0, dueMs - this.#clock.monotonicMs());
    // Stepping: a far deadline is reached by timers that each fit; Node rounds down to whole milliseconds.
    this.#timerDueMs = dueMs;
    this.#timer = this.#clock.startTimer(Math.min(Math.ceil(delayMs), TIMER_MS_MAX), this.#fireDue);
    if (this.#holders === 0) this.#timer.unref();
  }

  readonly #fireDue = (): void => {
    this.#timer = null;
    this.#isFiring = true;
    const nowMs = this.#clock.monotonicMs();
    try {
      for (let deadline = this.#heap.peek(); deadline !== undefined; deadline = this.#heap.peek()) {
        if (this.#heap.firstDueMs > nowMs) break;
        this.cancel(deadline);
        deadline.fire();
      }
    } finally {
      // Also after a deadline that threw: one bad callback must not silence the others.
      this.#isFiring = false;
      this.#arm();
    }
  };
}
