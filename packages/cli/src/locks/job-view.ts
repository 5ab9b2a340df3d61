/** A job as operators want to see it: its last run, where that was, how it ended, and what comes next. */
import type { JobInfo, JobState } from 'holdfast';
import { formatDuration } from '../duration.ts';
import type { Column } from '../table.ts';

/** As it is in JSON. What is not known is null. */
export interface JobView {
  readonly name: string;
  /** The schedule in words; null for a job that only ran by hand. */
  readonly schedule: string | null;
  /** The last slot. */
  readonly slot: string;
  readonly state: JobState;
  readonly attempt: number;
  readonly host: string | null;
  readonly beganAt: string | null;
  readonly endedAt: string | null;
  readonly tookMs: number | null;
  readonly error: string | null;
  readonly fence: number | null;
  /** The next slot. */
  readonly next: string | null;
}

export function makeJobView({ name, spec, last, next, tookMs }: JobInfo): JobView {
  return {
    name,
    schedule: spec === '' ? null : spec,
    slot: last.slot.toISOString(),
    state: last.state,
    attempt: last.attempt,
    host: last.host ?? null,
    beganAt: last.beganAt?.toISOString() ?? null,
    endedAt: last.endedAt?.toISOString() ?? null,
    tookMs: tookMs ?? null,
    error: last.error ?? null,
    fence: last.fence ?? null,
    next: next?.toISOString() ?? null,
  };
}

/** To the second: a slot with milliseconds is rare, and then they matter. */
function shownTime(iso: string | null): string {
  return iso === null ? '-' : iso.replace('T', ' ').replace('.000Z', 'Z');
}

export const JOB_COLUMNS: readonly Column<JobView>[] = [
  { title: 'JOB', cell: ({ name }) => name, least: 12 },
  { title: 'LAST', cell: ({ slot }) => shownTime(slot) },
  { title: 'STATE', cell: ({ state, attempt }) => (attempt > 1 ? `${state} (${attempt})` : state) },
  { title: 'TOOK', cell: ({ tookMs }) => (tookMs === null ? '-' : formatDuration(tookMs)), isNumber: true },
  { title: 'HOST', cell: ({ host }) => host ?? '-', least: 8 },
  { title: 'NEXT', cell: ({ next }) => shownTime(next), rank: 1 },
  { title: 'SCHEDULE', cell: ({ schedule }) => schedule ?? 'by hand', least: 12, rank: 2 },
  { title: 'ERROR', cell: ({ error }) => error ?? '', least: 12, rank: 3 },
];
