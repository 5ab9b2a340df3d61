/** What the marker of a job tells of its last run. */
import type { JobReadOutcome } from '../../scripts/generated.ts';

/**
 * How a slot stands.
 *
 * - `running`: a process runs it, or has not said that it ended.
 * - `done`, `failed`: it ran, and its body returned or threw.
 * - `retry`: an attempt has failed, and another will follow.
 * - `dead`: the process that ran it lost its lock and nobody has heard of the end.
 * - `missed`: nobody started it in time.
 * - `baseline`: the job was new, and this slot was already past.
 */
export type JobState = 'running' | 'done' | 'failed' | 'retry' | 'dead' | 'missed' | 'baseline';

const STATES: readonly string[] = ['running', 'done', 'failed', 'retry', 'dead', 'missed', 'baseline'];

/** One slot of a job. */
export interface JobRun {
  readonly slot: Date;
  readonly state: JobState;
  /** 0: it was not started. */
  readonly attempt: number;
  readonly fence: number | undefined;
  /** The machine that ran it, as that machine calls itself. */
  readonly host: string | undefined;
  readonly beganAt: Date | undefined;
  readonly endedAt: Date | undefined;
  /** The error of a run that failed, in words. */
  readonly error: string | undefined;
}

/** What the server knows of a job. */
export interface JobInfo {
  readonly name: string;
  /** The schedule in words; empty for a job that only ran by hand. */
  readonly spec: string;
  readonly last: JobRun;
  readonly next: Date | undefined;
  /** How long the last run took, or has taken so far. Undefined: it did not run. */
  readonly tookMs: number | undefined;
}

/** Null where there is no marker, or one that is not ours. */
export function jobInfo(name: string, found: JobReadOutcome): JobInfo | null {
  if (found.is === 'ABSENT' || !STATES.includes(found.state)) return null;
  const began = timeOf(found.began);
  const ended = timeOf(found.ended);
  const hasRun = Number(found.attempt) > 0 && began !== undefined;
  const last: JobRun = {
    slot: new Date(Number(found.slot)),
    state: found.state as JobState,
    attempt: Number(found.attempt) || 0,
    fence: hasRun ? numberOf(found.fence) : undefined,
    host: hasRun ? textOf(found.host) : undefined,
    beganAt: hasRun ? dateOf(began) : undefined,
    endedAt: hasRun ? dateOf(ended) : undefined,
    error: hasRun ? textOf(found.text) : undefined,
  };
  const untilMs = ended ?? (found.state === 'running' ? found.nowMs : undefined);
  const tookMs = hasRun && untilMs !== undefined ? Math.max(0, untilMs - began) : undefined;
  return { name, spec: found.spec, last, next: dateOf(timeOf(found.next)), tookMs };
}

/** The last moment that a `Date` can be. Anybody who may write to Redis may have written a later one. */
const TIME_MS_MAX = 8_640_000_000_000_000;

function timeOf(text: string): number | undefined {
  const ms = numberOf(text);
  return ms !== undefined && ms <= TIME_MS_MAX ? ms : undefined;
}

function numberOf(text: string): number | undefined {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  return value > 0 ? value : undefined;
}

function textOf(text: string): string | undefined {
  return text === '' ? undefined : text;
}

function dateOf(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms);
}
