/** Notices a connection that takes commands and answers none. */
import { type Agenda, Alarm } from '../core/agenda.ts';

/**
 * How long the oldest unanswered command may wait without any answer arriving before its connection is given up.
 *
 * A connection whose other end has vanished without a word (a lost host, a firewall that forgot it) looks
 * healthy: writes succeed, nothing comes back, and the kernel takes a quarter of an hour to say so. Meanwhile
 * every call on it ends as unknown. Shorter would be wrong: a clean-up is queued behind the call that timed out
 * on the same connection, so that it runs after it, and a server that is merely stuck in a long command must find
 * both there when it goes on. Five seconds are longer than a fork, a slow script or a short freeze, and well
 * below the default lease of 30 s, so a renewal still gets through on the next connection.
 */
export const SILENCE_MS_MAX = 5_000;

export class Silence {
  readonly #agenda: Agenda;
  readonly #alarm: Alarm;
  readonly #onSilent: () => void;
  #unanswered = 0;
  #sinceMs = 0;
  #isStopped = false;

  constructor(agenda: Agenda, onSilent: () => void) {
    this.#agenda = agenda;
    this.#onSilent = onSilent;
    // It must not keep a process alive: whoever waits for an answer does that.
    this.#alarm = new Alarm(() => this.#look(), false);
  }

  /** A command is written now. The time is handed in: whoever sends has just read the clock for its deadline. */
  sent(nowMs: number): void {
    this.#unanswered += 1;
    if (this.#unanswered > 1 || this.#isStopped) return;
    this.#sinceMs = nowMs;
    // Left set when the answer comes: moving it for each command would cost more than one idle ring.
    if (!this.#alarm.isSet) this.#agenda.setAt(this.#alarm, this.#sinceMs + SILENCE_MS_MAX);
  }

  /** A command got its answer. */
  answered(): void {
    this.#unanswered -= 1;
    if (this.#unanswered > 0) this.heard();
  }

  /** Something came from the other side. */
  heard(): void {
    this.#sinceMs = this.#agenda.clock.monotonicMs();
  }

  stop(): void {
    this.#isStopped = true;
    this.#agenda.cancel(this.#alarm);
  }

  #look(): void {
    if (this.#unanswered === 0) return;
    const dueMs = this.#sinceMs + SILENCE_MS_MAX;
    if (this.#agenda.clock.monotonicMs() < dueMs) this.#agenda.setAt(this.#alarm, dueMs);
    else this.#onSilent();
  }
}
