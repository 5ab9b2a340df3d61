/** The calls on one connection that is up: writes them in order and ends each with what comes back. */

import { CallFailure } from '../client.ts';
import { answersOf, scriptRequestOf } from './bundle.ts';
import type { Call, CallResult } from './call.ts';
import type { RawConnection } from './raw-connection.ts';
import type { OpenConnection } from './reconnecting-connection.ts';
import { failureOf } from './reply-errors.ts';
import type { StallWatch } from './stall-watch.ts';

/** Refusals of a whole bundle for the sake of some key: our user may not touch it, or it is of another slot. */
const REFUSED_FOR_A_KEY: ReadonlySet<string> = new Set(['NOPERM', 'CROSSSLOT']);

/** After these replies a call may be sent a second time: they say that nothing was run. */
const NOT_RUN: ReadonlySet<string> = new Set(['NOSCRIPT', ...REFUSED_FOR_A_KEY]);

export class InFlight {
  readonly raw: RawConnection;
  readonly #stallWatch: StallWatch;
  readonly #onReplica: () => void;
  /**
   * Calls that wait for an answer, in no order. Each knows its index, so that removing a call moves only the last one: a
   * `Set` in place of the list takes about 5 % more of the processor time of 64 callers.
   */
  readonly #calls: Call[] = [];
  #isCut = false;
  #isReplica = false;

  constructor({ raw, stallWatch }: OpenConnection, onReplica: () => void) {
    this.raw = raw;
    this.#stallWatch = stallWatch;
    this.#onReplica = onReplica;
  }

  /** The server has become a replica: nothing more is written, and the connection is closed after the last answer. */
  get isReplica(): boolean {
    return this.#isReplica;
  }

  /** How many calls wait for an answer. */
  get size(): number {
    return this.#calls.length;
  }

  /** Writes one request: a single call, or several of one script as a bundle. Calls that have ended are left out. */
  write(calls: readonly Call[], nowMs: number): void {
    const open = calls.every(isOpen) ? calls : calls.filter(isOpen);
    if (open.length === 0) return;
    let leastMs = Number.POSITIVE_INFINITY;
    for (const call of open) {
      call.markWritten(this.raw);
      call.inFlightIndex = this.#calls.push(call) - 1;
      if (call.patienceMs < leastMs) leastMs = call.patienceMs;
    }
    this.#stallWatch.sent(nowMs, leastMs);
    this.#send(open, false);
  }

  /** The connection is gone. Every call on it ends as unknown now, before the Redis client rejects it. */
  cut(reason: string, cause?: unknown): void {
    this.#isCut = true;
    this.#stallWatch.stop();
    for (const call of this.#calls.splice(0)) {
      call.inFlightIndex = -1;
      call.end(new CallFailure('unknown', reason, '', cause));
    }
  }

  /** `isByText`: with EVAL, after EVALSHA was answered with NOSCRIPT. */
  #send(calls: readonly Call[], isByText: boolean): void {
    let answer: Promise<unknown>;
    try {
      const request = calls[0]?.request;
      answer =
        request?.script === null
          ? this.raw.command(request.command)
          : this.raw.send(scriptRequestOf(calls), isByText);
    } catch (error) {
      this.#fail(calls, error, isByText);
      return;
    }
    answer.then(
      (reply) => {
        this.#stallWatch.answered();
        this.#end(calls, answersOf(calls, reply));
      },
      (error: unknown) => this.#fail(calls, error, isByText),
    );
  }

  #fail(calls: readonly Call[], error: unknown, isByText: boolean): void {
    const failure = failureOf(error, 'unknown');
    const { word } = failure;
    if (word === 'READONLY') this.#isReplica = true;
    if (NOT_RUN.has(word)) endUnwanted(calls, failure);
    // An ended call is not sent again: its caller has given up, and may have queued a clean-up behind it.
    const open = this.#isCut ? [] : calls.filter(isOpen);
    if (word === 'NOSCRIPT' && !isByText && open.length > 0) {
      this.#stallWatch.heard();
      for (const call of calls) if (call.hasEnded) this.#remove(call);
      this.#send(open, true);
      return;
    }
    this.#stallWatch.answered();
    if (REFUSED_FOR_A_KEY.has(word) && calls.length > 1 && open.length > 0) {
      this.#sendSingly(calls, open);
      return;
    }
    this.#end(
      calls,
      calls.map(() => failure),
    );
  }

  /** The server refused a bundle because of one key, before it ran any call: each call is sent by itself. */
  #sendSingly(calls: readonly Call[], open: readonly Call[]): void {
    for (const call of calls) this.#remove(call);
    for (const call of open) this.write([call], call.startedMs);
    // For the stall watch the silence begins now, and not when the first of these calls began.
    this.#stallWatch.heard();
  }

  #end(calls: readonly Call[], results: readonly CallResult[]): void {
    for (let i = 0; i < calls.length; i += 1) {
      const call = calls[i] as Call;
      this.#remove(call);
      call.end(results[i] as CallResult);
    }
    // Reconnect only after the last reply, so that pending calls get READONLY rather than unknown.
    if (this.#isReplica && this.#calls.length === 0 && !this.#isCut) this.#onReplica();
  }

  #remove(call: Call): void {
    const index = call.inFlightIndex;
    if (index < 0) return;
    call.inFlightIndex = -1;
    const last = this.#calls.pop();
    if (last === undefined || last === call) return;
    this.#calls[index] = last;
    last.inFlightIndex = index;
  }
}

/** Do not resend a call whose release was already written: the call would take effect behind it, for nobody. */
function endUnwanted(calls: readonly Call[], failure: CallFailure): void {
  for (const call of calls) {
    const { request } = call;
    if (request.script !== null && request.isWanted?.() === false) call.end(failure);
  }
}

function isOpen(call: Call): boolean {
  return !call.hasEnded;
}
