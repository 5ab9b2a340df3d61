/**
 * One term of a leader, from its election until its body has ended.
 *
 * - `leading`: the body runs. Out: the body ends (`ended`), or somebody wants the term to end (`stopping`).
 * - `stopping`: the signal of the body has aborted. The lease is still renewed, unless it is lost: nobody else may lead while
 *   the body is at work. Out: the body ends (`ended`), or its grace is over (`stuck`).
 * - `ended`: the body has settled. The lock may be released.
 * - `stuck`: the body does not end. The lease is not renewed any more, and not released: it runs out.
 */
import { onAbort } from '../../runtime/on-abort.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import { within } from '../../runtime/timers.ts';

/** What the body of a leader is given. */
export interface LeaderTerm {
  /** Aborts when the term ends: the lock is lost, the leader steps down, or `run` is told to stop. */
  readonly signal: AbortSignal;
  /** The number of the term: larger than that of every earlier leader. */
  readonly fence: number;
}

export type LeaderBody = (term: LeaderTerm) => Promise<void> | void;

/** Why a term ended. */
export type TermEnd = 'returned' | 'threw' | 'lost' | 'stopped' | 'stepped down';

export interface TermOutcome {
  readonly end: TermEnd;
  /** What the body has thrown, if it has. */
  readonly error?: unknown;
  readonly isStuck: boolean;
}

/** The lease of the term, as far as a term looks at it. */
export interface TermLease {
  readonly fence: number;
  readonly signal: AbortSignal;
}

export class Term {
  readonly fence: number;
  readonly #lease: TermLease;
  readonly #timers: TimerQueue;
  readonly #graceMs: number;
  readonly #controller = new AbortController();
  /** Resolves when the body has settled, in time or not. */
  bodyEnded: Promise<unknown> = Promise.resolve();
  #end: TermEnd | null = null;
  #wake: () => void = () => {};

  constructor(lease: TermLease, timers: TimerQueue, graceMs: number) {
    this.fence = lease.fence;
    this.#lease = lease;
    this.#timers = timers;
    this.#graceMs = graceMs;
  }

  /** Whether the body was told to end. */
  get isOver(): boolean {
    return this.#end !== null;
  }

  /** Tells the body to end, now and with that reason. The first reason counts. */
  end(why: 'lost' | 'stopped' | 'stepped down', reason: unknown): void {
    if (this.#end !== null) return;
    this.#end = why;
    this.#controller.abort(reason);
    this.#wake();
  }

  /**
   * Runs the body. Resolves when it has ended, or when it did not end in time. A term that is over already has no body: one
   * that waits for its signal to abort would wait for ever.
   */
  async run(body: LeaderBody): Promise<TermOutcome> {
    const ended = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    // Within the abort of the lease: the body is told before anybody else can lead.
    const stopHearing = onAbort(this.#lease.signal, () => this.end('lost', this.#lease.signal.reason));
    if (this.#lease.signal.aborted) this.end('lost', this.#lease.signal.reason);
    if (this.#end !== null) {
      stopHearing();
      return { end: this.#end, isStuck: false };
    }
    const { fence } = this;
    const { signal } = this.#controller;
    const settled = Promise.allSettled([(async () => body({ signal, fence }))()]);
    this.bodyEnded = settled;
    try {
      await Promise.race([settled, ended]);
      // The body has ended by itself, before anybody told it to.
      if (this.#end === null) return this.#outcome((await settled)[0], false);
      const result = await within(this.#timers, settled, this.#graceMs, () => null);
      return result === null ? { end: this.#end, isStuck: true } : this.#outcome(result[0], true);
    } finally {
      stopHearing();
    }
  }

  #outcome(result: PromiseSettledResult<void>, wasTold: boolean): TermOutcome {
    const end = this.#end;
    if (result.status === 'fulfilled') return { end: end ?? 'returned', isStuck: false };
    // A body that was told to end may say so by an error.
    return { end: wasTold && end !== null ? end : 'threw', error: result.reason, isStuck: false };
  }
}
