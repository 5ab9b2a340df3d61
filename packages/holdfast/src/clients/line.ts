/** A connection that is up, as calls see it: it writes them in order and ends them with what comes back. */
import { bundleAnswers, bundleRequest } from './bundle.ts';
import type { Call } from './call.ts';
import { CallFailure, type Reply, type ScriptText } from './client.ts';
import { reasonOf, replyFailure, replyWord } from './reason.ts';
import type { Silence } from './silence.ts';
import type { Sender } from './wire.ts';

export class Line {
  readonly #sender: Sender;
  readonly #silence: Silence | null;
  /** Those that wait for an answer, in no order: each knows its place, so that taking one out moves only the last. */
  readonly #calls: Call[] = [];
  #isCut = false;

  /** Without a `silence` nobody watches for one: a connection that is not ours is not ours to drop. */
  constructor(sender: Sender, silence: Silence | null) {
    this.#sender = sender;
    this.#silence = silence;
  }

  write(call: Call, nowMs: number): void {
    this.#add(call);
    this.#silence?.sent(nowMs);
    this.#send(call, false);
  }

  /** Several calls of one script, as one request. */
  writeBundle(calls: readonly Call[], nowMs: number): void {
    const [first] = calls;
    const script = first?.request.script.bundle;
    if (first === undefined) return;
    if (script === undefined || calls.length === 1) {
      for (const call of calls) this.write(call, nowMs);
      return;
    }
    for (const call of calls) this.#add(call);
    this.#silence?.sent(nowMs);
    this.#sendBundle(script, calls, false);
  }

  #add(call: Call): void {
    call.markWritten();
    call.lineIndex = this.#calls.push(call) - 1;
  }

  /** The connection is gone. Every call on it ends as unknown, now rather than when its client gets round to it. */
  cut(reason: string, cause?: unknown): void {
    this.#isCut = true;
    this.#silence?.stop();
    for (const call of this.#calls.splice(0)) {
      call.lineIndex = -1;
      call.end(new CallFailure('unknown', reason, '', cause));
    }
  }

  #send(call: Call, isByText: boolean): void {
    let answer: Promise<unknown>;
    try {
      answer = this.#sender.send(call.request, isByText, this.#calls.length > 1);
    } catch (error) {
      this.#fail(call, error, isByText);
      return;
    }
    answer.then(
      (reply) => {
        this.#silence?.answered();
        this.#remove(call);
        // The scripts are ours, and answer in these shapes only.
        call.end(reply as Reply);
      },
      (error: unknown) => this.#fail(call, error, isByText),
    );
  }

  #fail(call: Call, error: unknown, isByText: boolean): void {
    const word = replyWord(error);
    // An ended call is not sent again: its caller has given up, and may have queued a clean-up behind it.
    if (word === 'NOSCRIPT' && !isByText && !this.#isCut && !call.hasEnded) {
      this.#silence?.heard();
      this.#send(call, true);
      return;
    }
    this.#silence?.answered();
    this.#remove(call);
    if (call.hasEnded) return;
    call.end(
      word === null ? new CallFailure('unknown', reasonOf(error), '', error) : replyFailure(error, word),
    );
  }

  #sendBundle(script: ScriptText, calls: readonly Call[], isByText: boolean): void {
    let answer: Promise<unknown>;
    try {
      answer = this.#sender.send(bundleRequest(script, calls), isByText, true);
    } catch (error) {
      this.#failBundle(script, calls, error, isByText);
      return;
    }
    answer.then(
      (reply) => {
        this.#silence?.answered();
        for (const [i, result] of bundleAnswers(reply, calls.length).entries()) {
          const call = calls[i] as Call;
          this.#remove(call);
          call.end(result);
        }
      },
      (error: unknown) => this.#failBundle(script, calls, error, isByText),
    );
  }

  #failBundle(script: ScriptText, calls: readonly Call[], error: unknown, isByText: boolean): void {
    const word = replyWord(error);
    const open = this.#isCut ? [] : calls.filter((call) => !call.hasEnded);
    if (word === 'NOSCRIPT' && !isByText && open.length > 0) {
      this.#silence?.heard();
      for (const call of calls) if (call.hasEnded) this.#remove(call);
      this.#sendBundle(script, open, true);
      return;
    }
    this.#silence?.answered();
    for (const call of calls) this.#remove(call);
    // One key that our user may not touch refuses them all, before any of them was run: each is asked by itself.
    if (word === 'NOPERM') {
      for (const call of open) this.write(call, call.startedMs);
      return;
    }
    const failure =
      word === null ? new CallFailure('unknown', reasonOf(error), '', error) : replyFailure(error, word);
    for (const call of calls) call.end(failure);
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
