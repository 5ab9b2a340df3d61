/**
 * Jobs: what runs once for each slot on one of all replicas.
 *
 * In this folder: slots, asking the server for a start, a run, its protocol, and the two that run jobs: a schedule
 * and a single run. Only `locks.ts`, `index.ts` and `admin/jobs.ts` import from here, and only this file.
 */

import { LockConfigError } from '../../errors.ts';
import type { Session } from '../../locking/session.ts';
import { resolveSchedule, type ScheduleOptions } from '../../options/schedule-options.ts';
import { resolveSingleRun, type SingleRunOptions } from '../../options/single-run-options.ts';
import { describe } from '../../runtime/describe.ts';
import { quote } from '../../runtime/printable.ts';
import type { JobBody } from './job-run.ts';
import { ScheduleHandle } from './schedule.ts';
import type { Schedule } from './schedule-events.ts';
import { SingleJob, type SingleRun } from './single-run.ts';
import { slotsOf } from './slots.ts';

export type { ScheduleOptions, SlotOptions, StopOptions } from '../../options/schedule-options.ts';
export type { SingleRunOptions } from '../../options/single-run-options.ts';
export { type JobInfo, type JobRun, type JobState, jobInfo } from './job-record.ts';
export type { JobBody, JobResult, JobRunContext } from './job-run.ts';
export type { Schedule, ScheduleEvents, SkipReason } from './schedule-events.ts';
export type { SingleRun } from './single-run.ts';

interface JobName {
  readonly name: string;
  /** The key of the name. */
  readonly key: string;
}

export function startSchedule(
  session: Session,
  job: JobName,
  options: ScheduleOptions,
  body: JobBody,
): Schedule {
  checkBody(body);
  refuseQuorum(session, job.name);
  const resolved = resolveSchedule(options, session.options);
  return new ScheduleHandle(session, job, resolved, slotsOf(resolved), body);
}

export async function runOnce(
  session: Session,
  job: JobName,
  options: SingleRunOptions,
  body: JobBody,
): Promise<SingleRun> {
  checkBody(body);
  refuseQuorum(session, job.name);
  return new SingleJob(session, job, resolveSingleRun(options, session.options), body).run();
}

function checkBody(body: unknown): void {
  if (typeof body === 'function') return;
  throw new LockConfigError(`expected the body of a job to be a function, got ${describe(body)}`);
}

/** The marker of a failed vote, on a minority of servers, could suppress a run that never happened. */
function refuseQuorum({ topology }: Session, name: string): void {
  if (topology.size === 1 || topology.hasLine) return;
  const message = `job ${quote(name)}: expected one server, a primary behind Sentinel or a cluster, got a quorum of ${topology.size}: the marker of a job cannot be kept there`;
  throw new LockConfigError(message, { lock: name });
}
