/** What a program sees of a schedule. */
import type { StopOptions } from '../../options/schedule-options.ts';
import type { JobRun, JobState } from './job-record.ts';

/** Why this process does not run a slot: how the slot stands elsewhere, or that an earlier run did not end in time. */
export type SkipReason = Exclude<JobState, 'retry'> | 'passed' | 'busy';

/** What the listeners of a schedule are given. */
export interface ScheduleEvents {
  /** A run of this process ended well. `isRecorded` false: another run has replaced it, or the server did not answer. */
  readonly ran: { readonly run: JobRun; readonly isRecorded: boolean };
  /** A run of this process failed, or, without a run, no start could be asked for. */
  readonly failed: { readonly run: JobRun | null; readonly error: unknown; readonly isRecorded: boolean };
  /** This process does not run a slot: as a rule because another replica does. */
  readonly skipped: { readonly slot: Date; readonly reason: SkipReason; readonly host: string | undefined };
  /** Another replica has another schedule under this name. Told once for each. */
  readonly differs: { readonly ours: string; readonly theirs: string };
}

/** A job that runs at its slots until it is stopped. Keeps the process alive until then. */
export interface Schedule {
  readonly name: string;
  /** The next slot. Null until the server has told its time, and when no slot is left. */
  readonly next: Date | null;
  /** The last slot that this process has heard of, in any process. */
  readonly last: JobRun | null;
  /** Starts nothing any more. A run has `graceMs` to end, is then told by its signal, and is waited for. */
  stop(options?: StopOptions): Promise<void>;
  /** Calls the listener at each such event. Returns how to stop. */
  on<Name extends keyof ScheduleEvents>(
    event: Name,
    listener: (event: ScheduleEvents[Name]) => void,
  ): () => void;
}
