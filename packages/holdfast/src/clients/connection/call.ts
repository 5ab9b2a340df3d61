/** One request on its way, a script or a single command: its deadline, and the one place where the request ends. */

import { inMs } from '../../runtime/printable.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import { CallFailure, type Reply, type ScriptCall } from '../client.ts';
import type { RawConnection } from './raw-connection.ts';
import { patienceMs } from './stall-watch.ts';

export type CallResult = Reply | CallFailure;

/** A command that is no script of ours. */
export interface OneCommand {
  readonly script: null;
  readonly command: readonly string[];
}

export interface CallTerms {
  readonly timeoutMs: number;
  /** Whether the process stays alive for the answer. That is why our sockets need not hold it. @default true */
  readonly keepsAlive?: boolean;
  /** How long the connection may be silent before it is suspected. @default a share of `timeoutMs` */
  readonly patienceMs?: number;
}

export class Call {
  readonly request: ScriptCall | OneCommand;
  readonly result: Promise<CallResult>;
  /** By the monotonic clock, which is read once a call. */
  readonly startedMs: number;
  readonly timeoutMs: number;
  readonly patienceMs: number;
  readonly #timers: TimerQueue;
  readonly #deadline: Deadline;
  #resolve: ((result: CallResult) => void) | null = null;
  #writtenTo: RawConnection | null = null;
  /** Kept by `InFlight`: where the call stands in its list. */
  inFlightIndex = -1;

  constructor(request: ScriptCall | OneCommand, terms: CallTerms, timers: TimerQueue) {
    this.request = request;
    this.timeoutMs = terms.timeoutMs;
    this.patienceMs = terms.patienceMs ?? patienceMs(terms.timeoutMs);
    this.#timers = timers;
    this.#deadline = new Deadline(() => this.#expire(), terms.keepsAlive ?? true);
    this.result = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.startedMs = timers.clock.monotonicMs();
  }

  /** Sets the deadline. Called after the call was handed over: the server works while we keep our books. */
  arm(): void {
    if (this.#resolve !== null) this.#timers.setAt(this.#deadline, this.startedMs + this.timeoutMs);
  }

  get hasEnded(): boolean {
    return this.#resolve === null;
  }

  /** The connection that the call was written to, or null while it was written to none. */
  get writtenTo(): RawConnection | null {
    return this.#writtenTo;
  }

  /** From here on nobody can say that the call did not happen. */
  markWritten(raw: RawConnection): void {
    this.#writtenTo = raw;
  }

  /** Ends the call. What comes later is ignored. */
  end(result: CallResult): void {
    const resolve = this.#resolve;
    if (resolve === null) return;
    this.#resolve = null;
    this.#timers.cancel(this.#deadline);
    resolve(result);
  }

  #expire(): void {
    const limit = inMs(this.timeoutMs);
    this.end(
      this.#writtenTo === null
        ? new CallFailure('unreachable', `no connection within ${limit}`)
        : new CallFailure('unknown', `no answer within ${limit}`),
    );
  }
}

/** How a call ends that may not even begin, or null when it may. */
export function refusal(isClosed: boolean, timeoutMs: number): CallFailure | null {
  if (isClosed) return new CallFailure('closed', 'the client is closed');
  if (timeoutMs > 0) return null;
  return new CallFailure('unreachable', `no time to send it: the limit is ${inMs(timeoutMs)}`);
}
