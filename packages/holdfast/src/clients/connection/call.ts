/** One run of a script on its way: its deadline, and the one place where it ends. */

import { inMs } from '../../runtime/printable.ts';
import type { Deadline, TimerQueue } from '../../runtime/timer-queue.ts';
import { CallFailure, type Reply, type ScriptCall } from '../client.ts';

export type CallResult = Reply | CallFailure;

/** It is its own deadline, rather than having one: a call is made for every command, and this halves its objects. */
export class Call implements Deadline {
  readonly request: ScriptCall;
  readonly result: Promise<CallResult>;
  /** By the monotonic clock, which is read once a call. */
  readonly startedMs: number;
  readonly #timers: TimerQueue;
  readonly timeoutMs: number;
  #resolve: ((result: CallResult) => void) | null = null;
  #isWritten = false;
  /** Told when the deadline passes before the call was written. */
  onExpired: (() => void) | null = null;
  /** Its place among the calls of its line. */
  lineIndex = -1;

  heapIndex = -1;

  constructor(request: ScriptCall, timeoutMs: number, timers: TimerQueue) {
    this.request = request;
    this.#timers = timers;
    this.timeoutMs = timeoutMs;
    this.result = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.startedMs = timers.clock.monotonicMs();
  }

  /** Starts its deadline. After it was handed over: the server works while we keep our books. */
  arm(): void {
    if (this.#resolve !== null) this.#timers.setAt(this, this.startedMs + this.timeoutMs);
  }

  /** A call in flight holds the process by its deadline. That is why our sockets need not. */
  get keepsAlive(): boolean {
    return true;
  }

  get isSet(): boolean {
    return this.heapIndex >= 0;
  }

  get hasEnded(): boolean {
    return this.#resolve === null;
  }

  /** From here on nobody can say that it did not happen. */
  markWritten(): void {
    this.#isWritten = true;
  }

  /** Ends it. What comes later is ignored. */
  end(result: CallResult): void {
    const resolve = this.#resolve;
    if (resolve === null) return;
    this.#resolve = null;
    this.#timers.cancel(this);
    resolve(result);
  }

  /** The deadline has come. */
  fire(): void {
    if (this.#isWritten) {
      this.end(new CallFailure('unknown', `no answer within ${inMs(this.timeoutMs)}`));
    } else {
      this.end(new CallFailure('unreachable', `no connection within ${inMs(this.timeoutMs)}`));
      this.onExpired?.();
    }
  }
}

/** What a call ends as that is not even begun, or null when it may begin. */
export function refusal(isClosed: boolean, timeoutMs: number): CallFailure | null {
  if (isClosed) return new CallFailure('closed', 'the client is closed');
  if (timeoutMs > 0) return null;
  return new CallFailure('unreachable', `no time to send it: the limit is ${inMs(timeoutMs)}`);
}
