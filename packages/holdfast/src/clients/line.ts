/** A connection that is up, as calls see it: it writes them in order and ends them with what comes back. */
import type { Call } from './call.ts';
import { CallFailure, type Reply } from './client.ts';
import { reasonOf, replyFailure, replyWord } from './reason.ts';
import type { Silence } from './silence.ts';
import type { Sender } from './wire.ts';

export class Line {
  readonly #sender: Sender;
  readonly #silence: Silence | null;
  readonly #onReplica: (() => void) | null;
  /** Those that wait for an answer, in no order: each knows its place, so that taking one out moves only the last. */
  readonly #calls: Call[] = [];
  #isCut = false;

  /** Without a `silence` nobody watches for one: a connection that is not ours is not ours to drop. */
  constructor(sender: Sender, silence: Silence | null, onReplica: (() => void) | null = null) {
    this.#sender = sender;
    this.#silence = silence;
    this.#onReplica = onReplica;
  }

  write(call: Call, nowMs: number): void {
    call.markWritten();
    call.lineIndex = this.#calls.push(call) - 1;
    this.#silence?.sent(nowMs);
    this.#send(call, false);
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
    if (!call.hasEnded) {
      call.end(
        word === null ? new CallFailure('unknown', reasonOf(error), '', error) : replyFailure(error, word),
      );
    }
    // When the last has been told: those before it get the same answer, rather than none.
    if (word === 'READONLY' && this.#calls.length === 0 && !this.#isCut) this.#onReplica?.();
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
