/** What tests of schedules look at: the runs of a body, the marker of the job `tick`, and the list of jobs. */
import type { Locks } from '../../../src/locks.ts';
import type { JobBody, JobRunContext } from '../../../src/primitives/schedule/index.ts';
import { START_MS, type World } from './world.ts';

export const LOCK = 'holdfast_job_lock:{tick}';
export const MARKER = 'holdfast_job:{tick}';

export interface Ran extends Pick<JobRunContext, 'attempt' | 'fence'> {
  readonly slot: number;
  readonly atMs: number;
}

/** Notes every start of a body, as offsets from the beginning. */
export function recorder(world: World, then: JobBody = () => {}): { runs: Ran[]; body: JobBody } {
  const runs: Ran[] = [];
  const body: JobBody = (run) => {
    const { slot, attempt, fence } = run;
    runs.push({ slot: slot.getTime() - START_MS, attempt, fence, atMs: world.serverMs - START_MS });
    return then(run);
  };
  return { runs, body };
}

export const marker = async (world: World, field: string): Promise<unknown> =>
  world.node.command('HGET', MARKER, field);

export const never = (): Promise<void> => new Promise(() => {});

export async function jobsOf(locks: Locks): Promise<unknown[]> {
  const found = [];
  for await (const job of locks.jobs()) found.push(job);
  return found;
}
