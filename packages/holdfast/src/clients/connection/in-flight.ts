/** A connection that is up, as calls see it: it writes them in order and ends them with what comes back. */

import { CallFailure } from '../client.ts';
import { answersOf, requestOf } from './bundle.ts';
import type { Call, CallResult } from './call.ts';
import type { Sender } from './raw-connection.ts';
import { reasonOf, replyFailure, replyWord } from './reply-errors.ts';
import { patienceMs, type Silence } from './stall-watch.ts';

/** A key that our user may not touch; keys of several slots, where a single client is led to a node of a cluster. */
const SINGLY: ReadonlySet<string> = new Set(['NOPERM', 'CROSSSLOT']);

/** After these a call may be sent a second time: they say that nothing was run. */
const AGAIN: ReadonlySet<string> = new Set(['NOSCRIPT', ...SINGLY]);

export class Line {
  readonly #sender: Sender;
  readonly #silence: Silence;
  readonly #onReplica: () => void;
  /** Those that wait for an answer, in no order: each knows its place, so that taking one out moves only the last. */
  readonly #calls: Call[] = [];
  #isCut = false;
  #isLeaving = false;

  constructor(sender: Sender, silence: Silence, onReplica: () => void) {
    this.#sender = sender;
    this.#silence = silence;
    this.#onReplica = onReplica;
  }

  /** The server has become a replica: nothing more is to be written, and the connection goes with the last answer. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** How many calls wait for an answer. */
  get size(): number {
    return this.#calls.length;
  }

  /** As one request: a call by itself, or several of one script as a bundle. Those that have ended stay behind. */
  write(calls: readonly Call[], nowMs: number): void {
    const open = calls.every(isOpen) ? calls : calls.filter(isOpen);
    if (open.length === 0) return;
    let leastMs = Number.POSITIVE_INFINITY;
    for (const call of open) {
      call.markWritten();
      call.lineIndex = this.#calls.push(call) - 1;
      if (call.timeoutMs < leastMs) leastMs = call.timeoutMs;
    }
    this.#silence.sent(nowMs, patienceMs(leastMs));
    this.#send(open, false);
  }

  /** The connection is gone. Every call on it ends as unknown, now rather than when its client gets round to it. */
  cut(reason: string, cause?: unknown): void {
    this.#isCut = true;
    this.#silence.stop();
    for (const call of this.#calls.splice(0)) {
      call.lineIndex = -1;
      call.end(new CallFailure('unknown', reason, '', cause));
    }
  }

  #send(calls: readonly Call[], isByText: boolean): void {
    let answer: Promise<unknown>;
    try {
      answer = this.#sender.send(requestOf(calls), isByText, this.#calls.length > calls.length + 1);
    } catch (error) {
      this.#fail(calls, error, isByText);
      return;
    }
    answer.then(
      (reply) => {
        this.#silence.answered();
        this.#end(calls, answersOf(calls, reply));
      },
      (error: unknown) => this.#fail(calls, error, isByText),
    );
  }

  #fail(calls: readonly Call[], error: unknown, isByText: boolean): void {
    const word = replyWord(error);
    if (word === 'READONLY') this.#isLeaving = true;
    if (word !== null && AGAIN.has(word)) this.#endUnwanted(calls, replyFailure(error, word));
    // An ended call is not sent again: its caller has given up, and may have queued a clean-up behind it.
    const open = this.#isCut ? [] : calls.filter(isOpen);
    if (word === 'NOSCRIPT' && !isByText && open.length > 0) {
      this.#silence.heard();
      for (const call of calls) if (call.hasEnded) this.#remove(call);
      this.#send(open, true);
      return;
    }
    this.#silence.answered();
    if (word !== null && SINGLY.has(word) && calls.length > 1 && open.length > 0) {
      this.#sendSingly(calls, open);
      return;
    }
    const failure =
      word === null ? new CallFailure('unknown', reasonOf(error), '', error) : replyFailure(error, word);
    this.#end(
      calls,
      calls.map(() => failure),
    );
  }

  /** Nor is one sent again whose undoing was written meanwhile: it would be done behind it, for nobody. */
  #endUnwanted(calls: readonly Call[], failure: CallFailure): void {
    for (const call of calls) if (call.request.isWanted?.() === false) call.end(failure);
  }

  /** One key has refused the bundle for all, before any of it was run: each is asked by itself. */
  #sendSingly(calls: readonly Call[], open: readonly Call[]): void {
    for (const call of calls) this.#remove(call);
    for (const call of open) this.write([call], call.startedMs);
    // The first of them was not written when its call began, but now.
    this.#silence.heard();
  }

  #end(calls: readonly Call[], results: readonly CallResult[]): void {
    for (let i = 0; i < calls.length; i += 1) {
      const call = calls[i] as Call;
      this.#remove(call);
      call.end(results[i] as CallResult);
    }
    // With the last answer: those before it get the same one, rather than none.
    if (this.#isLeaving && this.#calls.length === 0 && !this.#isCut) this.#onReplica();
  }

  #remove(call: Call): void {
    const index = call.lineIndex;
    if (index < 0) return;
    call.lineIndex = -1;
    const last = this.#calls.pop();
    if (last === undefined || last === call) return;
    this.#calls[index] = last;
    last.lineIndex = index;
  }
}

function isOpen(call: Call): boolean {
  return !call.hasEnded;
}
