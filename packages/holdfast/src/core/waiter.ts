/**
 * A caller that wants in: its options, its promise, and what ends its wait (its turn, its time, its signal).
 * The caller awaits the promise in its own async context; settling it from elsewhere does not carry ours over.
 */
import type { Protocol } from '../topologies/topology.ts';
import { type Agenda, Alarm } from './agenda.ts';
import { abortError } from './failures.ts';
import { onAbort } from './on-abort.ts';
import type { ResolvedAcquireOptions } from './options.ts';
import type { WaiterQueue } from './waiter-queue.ts';

export class Waiter<Result> {
  readonly options: ResolvedAcquireOptions;
  readonly startedMs: number;
  readonly promise: Promise<Result>;
  /** Its neighbours; written by the queue. */
  previous: Waiter<Result> | null = null;
  next: Waiter<Result> | null = null;
  queue: WaiterQueue<Result> | null = null;
  /** Its time is up, but an attempt for it is under way; that one still counts. */
  isOverdue = false;
  readonly #agenda: Agenda;
  readonly #protocol: Protocol;
  #alarm: Alarm | null = null;
  readonly #stopHearing: (() => void) | null;
  #resolve!: (result: Result) => void;
  #reject!: (error: unknown) => void;

  constructor(agenda: Agenda, protocol: Protocol, options: ResolvedAcquireOptions, startedMs: number) {
    this.#agenda = agenda;
    this.#protocol = protocol;
    this.options = options;
    this.startedMs = startedMs;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#stopHearing = options.signal === undefined ? null : onAbort(options.signal, () => this.#abort());
  }

  get elapsedMs(): number {
    return this.#agenda.clock.monotonicMs() - this.startedMs;
  }

  get remainingMs(): number {
    return this.options.waitMs - this.elapsedMs;
  }

  /** Starts its clock. Only a caller that really waits pays for one. */
  armTimeout(onTimeout: (waiter: this) => void): void {
    if (this.#alarm !== null || this.options.waitMs === Number.POSITIVE_INFINITY) return;
    this.#alarm = new Alarm(() => onTimeout(this), true);
    this.#agenda.setAt(this.#alarm, this.startedMs + this.options.waitMs);
  }

  resolve(result: Result): void {
    this.#settle();
    this.#resolve(result);
  }

  reject(error: unknown): void {
    this.#settle();
    this.#reject(error);
  }

  #settle(): void {
    this.queue?.remove(this);
    if (this.#alarm !== null) this.#agenda.cancel(this.#alarm);
    this.#stopHearing?.();
  }

  #abort(): void {
    const { signal } = this.options;
    if (signal !== undefined) this.reject(abortError(this.#protocol, this.elapsedMs, signal));
  }
}
