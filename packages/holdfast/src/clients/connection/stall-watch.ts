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
export const STALL_MS_MAX = 5_000;

/**
 * Five seconds are longer than a short lease. So a connection is suspected long before: after half of what the most
 * impatient call on it may take, within these bounds. A suspicion costs a spare connection, which settles the question:
 * see `ReconnectingConnection`. The lower bound is longer than most pauses of a healthy server; of a lease of one
 * second, whose renewal goes out after a third of it, it leaves half.
 */
const PATIENCE_SHARE = 0.5;
const PATIENCE_MS_MIN = 100;
const PATIENCE_MS_MAX = 1_000;

/**
 * When this process stood still, a timer fires before what came meanwhile is read. So nobody judges a connection before
 * a second look, this much later.
 */
export const SECOND_LOOK_MS = 1;

/** How long a call with this time limit waits for any answer before its connection is suspected. */
export function patienceMs(timeoutMs: number): number {
  return Math.min(Math.max(timeoutMs * PATIENCE_SHARE, PATIENCE_MS_MIN), PATIENCE_MS_MAX);
}

export interface StallEvents {
  /** Nothing has come for as long as the most impatient call waits. Returns when to say so again. */
  suspected(): number;
  /** Nothing has come for `STALL_MS_MAX`: the connection is of no more use. */
  stalled(): void;
}

export class StallWatch {
  readonly #timers: TimerQueue;
  readonly #deadline: Deadline;
  readonly #events: StallEvents;
  #deadlineDueMs = 0;
  #unanswered = 0;
  #silentSinceMs = 0;
  /** The patience of the most impatient call that waits. */
  #patienceMs = STALL_MS_MAX;
  #suspectAgainMs = 0;
  #isSuspected = false;
  #hasHeard = false;
  #isSecondLook = false;
  #isStopped = false;

  constructor(timers: TimerQueue, events: StallEvents) {
    this.#timers = timers;
    this.#events = events;
    // The watch must not keep a process alive: whoever waits for an answer does that.
    this.#deadline = new Deadline(() => this.#look(), false);
  }

  /** Whether the connection was suspected, and nothing has come since. */
  get isSuspected(): boolean {
    return this.#isSuspected;
  }

  /** Whether any answer has ever come. */
  get hasHeard(): boolean {
    return this.#hasHeard;
  }

  /** For how long nothing has come. */
  get silentMs(): number {
    return this.#unanswered === 0 ? 0 : this.#timers.clock.monotonicMs() - this.#silentSinceMs;
  }

  /**
   * A command is written now. The time is handed in: whoever sends has just read the clock for a deadline. Without a
   * patience of its own the command raises no suspicion.
   */
  sent(nowMs: number, patience: number = STALL_MS_MAX): void {
    this.#unanswered += 1;
    if (this.#unanswered === 1) {
      this.#silentSinceMs = nowMs;
      this.#patienceMs = patience;
    } else if (patience < this.#patienceMs) this.#patienceMs = patience;
    else return;
    if (this.#isStopped) return;
    // The deadline stays set when the answer comes: moving it for each command would cost more than one idle firing.
    if (!this.#deadline.isSet || this.#dueMs < this.#deadlineDueMs) this.#arm();
  }

  /** A command got its answer. */
  answered(): void {
    this.#unanswered -= 1;
    this.#isSuspected = false;
    this.#hasHeard = true;
    if (this.#unanswered > 0) this.#silentSinceMs = this.#timers.clock.monotonicMs();
  }

  /** Something came from the server that ends no command. */
  heard(): void {
    this.#isSuspected = false;
    this.#hasHeard = true;
    this.#silentSinceMs = this.#timers.clock.monotonicMs();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timers.cancel(this.#deadline);
  }

  get #dueMs(): number {
    const suspectMs = Math.max(this.#silentSinceMs + this.#patienceMs, this.#suspectAgainMs);
    return Math.min(suspectMs, this.#silentSinceMs + STALL_MS_MAX);
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
    if (nowMs >= this.#silentSinceMs + STALL_MS_MAX) {
      this.#events.stalled();
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
      this.#isSuspected = true;
      this.#suspectAgainMs = this.#events.suspected();
    }
    if (!this.#isStopped) this.#arm();
  }
}
