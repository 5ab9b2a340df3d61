/**
 * Everything a session must do later, behind one timer: call deadlines, waits, sleeps, renewals, losses.
 *
 * One timer for thousands of alarms keeps an uncontended acquire free of timer work: setting and cancelling an
 * alarm moves a few numbers in a heap and leaves the armed timer alone unless the alarm is the earliest. A timer
 * that fires with nothing due just goes back to sleep, or away.
 *
 * The timer keeps the process alive only while an alarm does that says so (`holdsProcess`): a call in flight or
 * a waiter does, a renewal does not.
 */
import { assert } from './assert.ts';
import { type Clock, TIMER_MS_MAX, type Timer } from './clock.ts';
import { Heap, type HeapItem } from './heap.ts';

/** Something to do at a time. Make it once, set it as often as needed. */
export class Alarm implements HeapItem {
  heapIndex = -1;
  readonly ring: () => void;
  readonly holdsProcess: boolean;

  constructor(ring: () => void, holdsProcess: boolean) {
    this.ring = ring;
    this.holdsProcess = holdsProcess;
  }

  get isSet(): boolean {
    return this.heapIndex >= 0;
  }
}

export class Agenda {
  readonly #clock: Clock;
  readonly #heap = new Heap<Alarm>();
  #timer: Timer | null = null;
  #timerDueMs = 0;
  #holders = 0;
  #isRinging = false;
  #isRetired = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get clock(): Clock {
    return this.#clock;
  }

  /** How many alarms are set, for leak checks. */
  get size(): number {
    return this.#heap.size;
  }

  /** Sets the alarm to ring `delayMs` from now; a set alarm is moved. */
  setIn(alarm: Alarm, delayMs: number): void {
    this.setAt(alarm, this.#clock.monotonicMs() + Math.max(0, delayMs));
  }

  /** Sets the alarm to ring at a monotonic time; a set alarm is moved. */
  setAt(alarm: Alarm, dueMs: number): void {
    assert(Number.isFinite(dueMs), () => `an alarm is due at a finite time, got ${dueMs}`);
    if (!alarm.isSet && alarm.holdsProcess) this.#hold(1);
    this.#heap.put(alarm, dueMs);
    if (!this.#isRinging && (this.#timer === null || dueMs < this.#timerDueMs)) this.#arm();
  }

  cancel(alarm: Alarm): void {
    if (!alarm.isSet) return;
    this.#heap.remove(alarm);
    if (alarm.holdsProcess) this.#hold(-1);
    if (this.#isRetired) this.#dropIdleTimer();
  }

  /** No new work is coming: what is set still rings, because somebody may be waiting for it; then the timer goes. */
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
    // Stepping: a far alarm is reached by timers that each fit; Node rounds down to whole milliseconds.
    this.#timerDueMs = dueMs;
    this.#timer = this.#clock.startTimer(Math.min(Math.ceil(delayMs), TIMER_MS_MAX), this.#fire);
    if (this.#holders === 0) this.#timer.unref();
  }

  readonly #fire = (): void => {
    this.#timer = null;
    this.#isRinging = true;
    const nowMs = this.#clock.monotonicMs();
    try {
      for (let alarm = this.#heap.peek(); alarm !== undefined; alarm = this.#heap.peek()) {
        if (this.#heap.firstDueMs > nowMs) break;
        this.cancel(alarm);
        alarm.ring();
      }
    } finally {
      // Also after an alarm that threw: one bad callback must not silence the others.
      this.#isRinging = false;
      this.#arm();
    }
  };
}
