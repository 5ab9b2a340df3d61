/**
 * One run of a job, from the start that the server has decided until its end is recorded. The lease is renewed while the
 * body runs, also after the body was told to end: no other run begins while it is at work.
 */
import { JobTimeoutError, type LossReason } from '../../errors.ts';
import type { Hold, HoldKeeper } from '../../locking/hold.ts';
import { beginHold, leaveToLease, loseHold, releaseHold } from '../../locking/hold-life.ts';
import { Owner } from '../../locking/owner.ts';
import type { Session } from '../../locking/session.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import { inMs, quote } from '../../runtime/printable.ts';
import { Deadline } from '../../runtime/timer-queue.ts';
import { traceJob } from '../../telemetry/jobs.ts';
import type { JobRun } from './job-record.ts';
import type { JobEnding, JobProtocol } from './protocol.ts';
import type { ServerTime } from './server-time.ts';
import type { Started } from './start.ts';

/** What the body of a job is given. */
export interface JobRunContext {
  /** The time that the run is for. */
  readonly slot: Date;
  /** From 1. */
  readonly attempt: number;
  /** Larger than that of every earlier run of this job. */
  readonly fence: number;
  /** Aborts when the lock is lost, after `atMostMs`, and when the schedule is stopped. */
  readonly signal: AbortSignal;
  /** Whether the lock may be claimed now, by our own clocks. */
  readonly isHeld: boolean;
  /** How long it may still be claimed without another renewal. */
  readonly remainingMs: number;
}

export type JobBody = (run: JobRunContext) => Promise<void> | void;

/** How a run ended. */
export interface JobResult {
  readonly run: JobRun;
  /** What the body threw, or why it was told to end. Undefined: it ended well. */
  readonly error: unknown;
  /** Whether another attempt follows. */
  readonly isRetried: boolean;
  /** Whether the server has recorded the end. False: another run has replaced this one, or no answer came. */
  readonly isRecorded: boolean;
}

/** Doubled with each attempt: what failed because of something else gets time to recover. */
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 30_000;

/** The marker of a job is no log. */
const TEXT_BYTES_MAX = 1_024;

export interface JobLimits {
  readonly attempts: number;
  readonly atMostMs: number | null;
  readonly host: string;
}

export class RunningJob implements HoldKeeper {
  readonly session: Session;
  readonly #started: Started;
  readonly #limits: JobLimits;
  readonly #time: ServerTime;
  readonly #controller = new AbortController();
  readonly #hold: Hold;
  readonly #owner: Owner;

  constructor(session: Session, started: Started, limits: JobLimits, time: ServerTime) {
    this.session = session;
    this.#started = started;
    this.#limits = limits;
    this.#time = time;
    const { protocol, terms, grant } = started;
    const caller = { renews: true, isCrowded: false };
    this.#hold = beginHold(session, protocol, { is: 'granted', terms, answer: grant }, caller, this);
    this.#owner = new Owner(this.#hold, started.answer.fence, null, 'free');
  }

  /** The hold has ended by itself. The run goes on until its body has settled. */
  lost(hold: Hold, reason: LossReason): void {
    loseHold(this.session, hold, reason);
  }

  /** Never asked: the end of a run is recorded by `finish`, which ends its hold itself. */
  ended(): void {}

  /** Nobody has a lease of a job to give back. */
  leave(): Promise<boolean> {
    return Promise.resolve(false);
  }

  /** Tells the body to end. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** The body did not end although it was told to: its lock is left to its lease. */
  leaveToLease(): void {
    leaveToLease(this.session, this.#hold);
  }

  /** Runs the body and records its end. Never rejects. */
  run(body: JobBody): Promise<JobResult> {
    const { protocol, answer } = this.#started;
    const { name } = protocol;
    const { slotMs, attempt, fence, nowMs } = answer;
    const trace = {
      job: name,
      session: this.session.id,
      slot: slotMs,
      attempt,
      fence,
      lateMs: nowMs - slotMs,
    };
    return traceJob(trace, () => this.#run(body));
  }

  async #run(body: JobBody): Promise<JobResult> {
    const { protocol } = this.#started;
    const { timers } = this.session;
    const { atMostMs } = this.#limits;
    const { signal } = this.#owner;
    const stopHearing = onAbort(signal, () => this.#controller.abort(signal.reason));
    if (signal.aborted) this.#controller.abort(signal.reason);
    const limit = new Deadline(() => this.#controller.abort(this.#timeout()), true);
    if (atMostMs !== null) timers.setIn(limit, atMostMs);
    // From here on the start cannot be taken back.
    protocol.hasBegun = true;
    const [settled] = await Promise.allSettled([(async () => body(this.#context()))()]);
    timers.cancel(limit);
    stopHearing();
    const { reason } = this.#controller.signal;
    // A body that returns because its time is over has not done its work.
    const isTimeout = reason instanceof JobTimeoutError;
    const thrown =
      settled.status === 'rejected' ? (settled.reason ?? new Error('nothing was thrown')) : undefined;
    const error: unknown = thrown ?? (isTimeout ? reason : undefined);
    return this.#finish(protocol, error);
  }

  async #finish(protocol: JobProtocol, error: unknown): Promise<JobResult> {
    const { attempts, host } = this.#limits;
    const { slotMs, attempt, fence, nowMs } = this.#started.answer;
    const isRetried = error !== undefined && attempt < attempts;
    const ending: JobEnding = {
      state: error === undefined ? 'done' : isRetried ? 'retry' : 'failed',
      text: error === undefined ? '' : wordsOf(error),
      retryMs: Math.min(RETRY_MS_MIN * 2 ** (attempt - 1), RETRY_MS_MAX),
    };
    protocol.ending = ending;
    protocol.finished = null;
    await this.#release();
    const endedMs = this.#time.nowMs;
    const run: JobRun = {
      slot: new Date(slotMs),
      state: ending.state,
      attempt,
      fence,
      host,
      beganAt: new Date(nowMs),
      endedAt: endedMs === null ? undefined : new Date(endedMs),
      error: error === undefined ? undefined : ending.text,
    };
    const finished: JobProtocol['finished'] = protocol.finished;
    return { run, error, isRetried, isRecorded: isEnded(finished) };
  }

  /** Every release from here on states the ending, those that are repeated in the background too. */
  async #release(): Promise<void> {
    const { session } = this;
    const hold = this.#hold;
    if (hold.isLive && !hold.isValid(session.timers.clock)) this.lost(hold, 'expired');
    if (hold.isLive) {
      this.#owner.markReleased();
      await releaseHold(session, hold);
    } else if (session.state !== 'closed') {
      // The lock is lost. The marker may still be of this run: then its end is known.
      await session.topology.release(hold.protocol, hold.releaseTerms, session.options.callTimeoutMs);
    }
    session.finish();
  }

  #context(): JobRunContext {
    const { slotMs, attempt, fence } = this.#started.answer;
    const owner = this.#owner;
    const { clock } = this.session.timers;
    return {
      slot: new Date(slotMs),
      attempt,
      fence,
      signal: this.#controller.signal,
      get isHeld(): boolean {
        return owner.isHeld;
      },
      get remainingMs(): number {
        return owner.isHeld ? Math.max(0, owner.hold.remainingMs(clock)) : 0;
      },
    };
  }

  #timeout(): JobTimeoutError {
    const { name } = this.#started.protocol;
    const limit = inMs(this.#limits.atMostMs ?? 0);
    return new JobTimeoutError(`job ${quote(name)}: took longer than its ${limit}`, { lock: name });
  }
}

function isEnded(finished: JobProtocol['finished']): boolean {
  return finished?.is === 'ENDED';
}

/** Cut at a character. */
function wordsOf(error: unknown): string {
  const bytes = Buffer.from(textOf(error).toWellFormed());
  if (bytes.length <= TEXT_BYTES_MAX) return bytes.toString();
  return new TextDecoder().decode(bytes.subarray(0, TEXT_BYTES_MAX), { stream: true });
}

/** What was thrown may have no text, or getters that throw: the end of its run is recorded all the same. */
function textOf(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return 'a value that has no text';
  }
}
