/**
 * A caller that wants in: its options, its promise, and what ends its wait (its turn, its time, its signal).
 * The caller awaits the promise in its own async context; settling the promise from elsewhere does not carry ours over.
 */
import type { LockError } from '../../errors.ts';
import type { ResolvedAcquireOptions } from '../../options/acquire-options.ts';
import type { LinkedItem, LinkedQueue } from '../../runtime/linked-queue.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import type { Subject } from '../../telemetry/channels.ts';
import { abortError } from '../failures.ts';

/** Callers that may wait for one name in one process. Beyond it something else is wrong. */
export const WAITERS_MAX = 100_000;

/**
 * A promise that rejects with the error after its stack was taken again, now with the functions that await it.
 *
 * The error was made in a timer, or where a reply came in: the caller is not on that stack. V8 finds the functions that
 * await a promise while a reaction of that promise runs. So the error is thrown in a reaction, and one turn late: by
 * then the waiter's promise, which the caller awaits, follows this one. Waits that succeed pay nothing.
 */
function rejectionFor(error: LockError): Promise<never> {
  const aTurnLate = Promise.resolve().then(() => {});
  return aTurnLate.then(() => {
    Error.captureStackTrace(error);
    throw error;
  });
}

export class Waiter<Result> implements LinkedItem<Waiter<Result>> {
  readonly options: ResolvedAcquireOptions;
  readonly startedMs: number;
  readonly promise: Promise<Result>;
  previous: Waiter<Result> | null = null;
  next: Waiter<Result> | null = null;
  queue: LinkedQueue<Waiter<Result>> | null = null;
  /** The wait is over, but an attempt for this caller is under way, and its answer still counts. */
  isOverdue = false;
  readonly #timers: TimerQueue;
  readonly #subject: Subject;
  #deadline: Deadline | null = null;
  readonly #stopWatchingSignal: (() => void) | null;
  /** Null once the promise is settled. */
  #resolve: ((result: Result | Promise<never>) => void) | null = null;

  constructor(timers: TimerQueue, subject: Subject, options: ResolvedAcquireOptions, startedMs: number) {
    this.#timers = timers;
    this.#subject = subject;
    this.options = options;
    this.startedMs = startedMs;
    this.promise = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    const { signal } = options;
    this.#stopWatchingSignal = signal === undefined ? null : onAbort(signal, () => this.#abort());
  }

  /** Whether the caller still waits. */
  get isWaiting(): boolean {
    return this.#resolve !== null;
  }

  get elapsedMs(): number {
    return this.#timers.clock.monotonicMs() - this.startedMs;
  }

  get remainingMs(): number {
    return this.options.waitMs - this.elapsedMs;
  }

  /** Starts the clock of the wait. Only a caller that really waits has one. */
  armTimeout(onTimeout: (waiter: this) => void): void {
    if (this.#deadline !== null || this.options.waitMs === Number.POSITIVE_INFINITY) return;
    this.#deadline = new Deadline(() => onTimeout(this), true);
    this.#timers.setAt(this.#deadline, this.startedMs + this.options.waitMs);
  }

  resolve(result: Result): void {
    this.#settle()?.(result);
  }

  /** Rejects with an error that was made for this caller alone: its stack is changed to show the caller. */
  reject(error: LockError): void {
    const resolve = this.#settle();
    // Nobody would follow a second rejection, and Node would end the process over it.
    if (resolve !== null) resolve(rejectionFor(error));
  }

  /** Rejects with an error that other callers get too: its stack stays as it is. */
  fail(error: unknown): void {
    const resolve = this.#settle();
    if (resolve !== null) resolve(Promise.reject(error));
  }

  #settle(): ((result: Result | Promise<never>) => void) | null {
    const resolve = this.#resolve;
    this.#resolve = null;
    this.queue?.remove(this);
    if (this.#deadline !== null) this.#timers.cancel(this.#deadline);
    this.#stopWatchingSignal?.();
    return resolve;
  }

  #abort(): void {
    const { signal } = this.options;
    if (signal !== undefined) this.reject(abortError(this.#subject, this.elapsedMs, signal));
  }
}
