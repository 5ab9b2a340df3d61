/** Jobs, as the monitor tells of them: what `holdfast ls --jobs` prints. */

/** Written out: the page, which is compiled by itself, knows nothing of the library. */
type JobState = 'running' | 'done' | 'failed' | 'retry' | 'dead' | 'missed' | 'baseline';

/**
 * One job: its last run and its next slot. Times are those of the server, unlike the others of this API: a slot is at 02:30
 * sharp, whatever the clock of the monitor says.
 */
export interface JobView {
  readonly name: string;
  /** The schedule in words; `null` for a job that only ran by hand. */
  readonly schedule: string | null;
  /** The last slot. */
  readonly slot: number;
  readonly state: JobState;
  /** 0: it was not started. */
  readonly attempt: number;
  /** Where it ran. */
  readonly host: string | null;
  readonly beganAt: number | null;
  readonly endedAt: number | null;
  /** How long the last run took, or has taken so far. */
  readonly tookMs: number | null;
  readonly error: string | null;
  /** The next slot. */
  readonly next: number | null;
}

/** `GET api/v1/jobs`. Jobs are read while somebody asks for them. */
export interface JobsPage {
  /** When the last walk over all keys ended; `null` before the first, while `jobs` has what was found so far. */
  readonly readAt: number | null;
  /** By name, at most 1,000. */
  readonly jobs: readonly JobView[];
  /** How many there are in all. */
  readonly count: number;
}
