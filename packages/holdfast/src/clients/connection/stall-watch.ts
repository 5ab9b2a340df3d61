/** Notices a connection that takes commands and answers none. */
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';

/**
 * How long the oldest unanswered command may wait without any answer arriving before its connection is given up,
 * whatever else is known.
 *
 * A connection whose other end has vanished without a word (a lost host, a firewall that forgot it) looks
 * healthy: writes succeed, nothing comes back, and the kernel takes a quarter of an hour to say so. Meanwhile
 * every call on it ends as unknown. To give it up sooner on silence alone would be wrong: a clean-up is queued behind
 * the call that timed out on the same connection, so that it runs after it, and a server that is merely stuck in a long
 * command must find both there when it goes on. Five seconds are longer than a fork, a slow script or a short freeze.
 */
export const SILENCE_MS_MAX = 5_000;

/**
 * Five seconds are longer than a short lease. So a connection is doubted long before: after half of what the most
 * impatient call on it may take, within these bounds. A doubt costs a second connection, which settles the question:
 * see `Link`. The lower bound is longer than most pauses of a server that is well; of a lease of one second, whose
 * renewal goes out after a third of it, it leaves half.
 */
const DOUBT_SHARE = 0.5;
const DOUBT_MS_MIN = 100;
const DOUBT_MS_MAX = 1_000;

/**
 * When this process stood still, a timer fires before what came meanwhile is read. So whoever doubts a connection looks
 * once more, this much later.
 */
export const SECOND_LOOK_MS = 1;

/** How long a call that may take so long waits for any answer before its connection is doubted. */
export function patienceMs(timeoutMs: number): number {
  return Math.min(Math.max(timeoutMs * DOUBT_SHARE, DOUBT_MS_MIN), DOUBT_MS_MAX);
}

export interface SilenceEvents {
  /** Nothing has come for long enough to doubt it. Returns when to say so again, if nothing has come by then. */
  doubtful(): number;
  /** It is of no more use. */
  silent(): void;
}

export class Silence {
  readonly #timers: TimerQueue;
  readonly #deadline: Deadline;
  readonly #events: SilenceEvents;
  #deadlineDueMs = 0;
  #unanswered = 0;
  #sinceMs = 0;
  /** Of the most impatient of those that wait. */
  #patienceMs = SILENCE_MS_MAX;
  #doubtAgainMs = 0;
  #isDoubted = false;
  #hasHeard = false;
  #isSecondLook = false;
  #isStopped = false;

  constructor(timers: TimerQueue, events: SilenceEvents) {
    this.#timers = timers;
    this.#events = events;
    // It must not keep a process alive: whoever waits for an answer does that.
    this.#deadline = new Deadline(() => this.#look(), false);
  }

  /** Whether it was doubted, and nothing has come since. */
  get isDoubted(): boolean {
    return this.#isDoubted;
  }

  /** Whether it has ever had an answer. */
  get hasHeard(): boolean {
    return this.#hasHeard;
  }

  /** For how long nothing has come. */
  get lastsMs(): number {
    return this.#unanswered === 0 ? 0 : this.#timers.clock.monotonicMs() - this.#sinceMs;
  }

  /**
   * A command is written now. The time is handed in: whoever sends has just read the clock for its deadline. Without a
   * patience of its own it does not raise a doubt.
   */
  sent(nowMs: number, patience: number = SILENCE_MS_MAX): void {
    this.#unanswered += 1;
    if (this.#unanswered === 1) {
      this.#sinceMs = nowMs;
      this.#patienceMs = patience;
    } else if (patience < this.#patienceMs) this.#patienceMs = patience;
    else return;
    if (this.#isStopped) return;
    // Left set when the answer comes: moving it for each command would cost more than one idle fire.
    if (!this.#deadline.isSet || this.#dueMs < this.#deadlineDueMs) this.#arm();
  }

  /** A command got its answer. */
  answered(): void {
    this.#unanswered -= 1;
    this.#isDoubted = false;
    this.#hasHeard = true;
    if (this.#unanswered > 0) this.#sinceMs = this.#timers.clock.monotonicMs();
  }

  /** Something came from the other side. */
  heard(): void {
    this.#isDoubted = false;
    this.#hasHeard = true;
    this.#sinceMs = this.#timers.clock.monotonicMs();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timers.cancel(this.#deadline);
  }

  get #dueMs(): number {
    const doubtMs = Math.max(this.#sinceMs + this.#patienceMs, this.#doubtAgainMs);
    return Math.min(doubtMs, this.#sinceMs + SILENCE_MS_MAX);
  }

  #arm(): void {
    this.#deadlineDueMs = this.#dueMs;
    this.#timers.setAt(this.#deadline, this.#deadlineDueMs);
  }

  #look(): void {
    if (this.#unanswered === 0) {
      this.#isSecondLook = false;
      return;
    }
    const nowMs = this.#timers.clock.monotonicMs();
    if (nowMs >= this.#sinceMs + SILENCE_MS_MAX) {
      this.#events.silent();
      return;
    }
    const isDue = nowMs >= this.#dueMs;
    if (isDue && !this.#isSecondLook) {
      this.#isSecondLook = true;
      this.#deadlineDueMs = nowMs + SECOND_LOOK_MS;
      this.#timers.setAt(this.#deadline, this.#deadlineDueMs);
      return;
    }
    this.#isSecondLook = false;
    if (isDue) {
      this.#isDoubted = true;
      this.#doubtAgainMs = this.#events.doubtful();
    }
    if (!this.#isStopped) this.#arm();
  }
}
