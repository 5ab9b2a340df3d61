/** The figures of what stands on locks: calls of `once`, terms of leaders, runs of jobs. */
import type { JobResult, JobSkippedMessage, JobTrace, LeaderMessage, OnceTrace } from 'holdfast';
import { JOB_DURATION, JOB_LATENESS, JOBS_SKIPPED, LEADER_EVENTS, ONCE_DURATION } from './instruments.ts';
import { errorTypeOf } from './outcome.ts';
import type { SeriesOfGroup } from './series.ts';
import type { Subscriptions } from './subscriptions.ts';

/** `isUse`: counted where its group was beyond the largest number of groups. Once for each call and each run. */
type SeriesOf = (name: string, kind: string, isUse?: boolean) => SeriesOfGroup;

export class WorkFigures {
  readonly #of: SeriesOf;
  /** When what is under way began, for those that were heard from their start. */
  readonly #began = new WeakMap<object, number>();

  constructor(of: SeriesOf, subscriptions: Subscriptions) {
    this.#of = of;
    subscriptions.trace<OnceTrace>('once', 'start', (trace) => this.#begin(trace));
    subscriptions.trace<OnceTrace>('once', 'asyncEnd', (trace) => this.#endOnce(trace));
    subscriptions.trace<JobTrace>('job', 'start', (trace) => this.#beginRun(trace));
    subscriptions.trace<JobTrace>('job', 'asyncEnd', (trace) => this.#endRun(trace));
    subscriptions.on<JobSkippedMessage>('jobSkipped', ({ job, reason }) =>
      this.#of(job, 'job').add(JOBS_SKIPPED, 1, reason),
    );
    subscriptions.on<LeaderMessage>('leader', ({ leader, event }) =>
      this.#of(leader, 'leader').add(LEADER_EVENTS, 1, event),
    );
  }

  #begin(trace: object): void {
    this.#began.set(trace, performance.now());
  }

  /** Seconds since the start; null when that was before anybody listened. */
  #took(trace: object): number | null {
    const began = this.#began.get(trace);
    this.#began.delete(trace);
    return began === undefined ? null : (performance.now() - began) / 1000;
  }

  #endOnce(trace: OnceTrace): void {
    const took = this.#took(trace);
    if (took === null) return;
    const { lock, error, ran } = trace;
    const outcome = error !== undefined ? 'failed' : ran === true ? 'ran' : 'replayed';
    this.#of(lock, 'once', true).add(ONCE_DURATION, took, outcome, errorTypeOf(error));
  }

  #beginRun(trace: JobTrace): void {
    this.#begin(trace);
    this.#of(trace.job, 'job', true).add(JOB_LATENESS, Math.max(0, trace.lateMs) / 1000);
  }

  #endRun(trace: JobTrace): void {
    const took = this.#took(trace);
    if (took === null) return;
    // What a run resolves to, unless it could not even be recorded.
    const result = trace.result as JobResult | undefined;
    const error = trace.error ?? result?.error;
    this.#of(trace.job, 'job').add(JOB_DURATION, took, runOutcome(error, result), errorTypeOf(error));
  }
}

function runOutcome(error: unknown, result: JobResult | undefined): string {
  if (result?.isRecorded === false) return 'unrecorded';
  if (error === undefined) return 'done';
  return result?.isRetried === true ? 'retried' : 'failed';
}
