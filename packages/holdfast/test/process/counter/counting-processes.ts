/** Several processes with many callers each, at work on one counter. */
import { type Child, startChild } from '../../support/processes/child.ts';
import { ask, asStrings } from '../../support/servers/raw-redis.ts';
import type { TroubleLine } from '../children/talk.ts';
import { START_LIMIT_MS } from '../limits.ts';
import { COUNTER, type CounterLine, type CounterTask, LOG } from './task.ts';

export interface Counting {
  readonly child: Child<CounterLine & TroubleLine>;
  readonly session: string;
}

/** Starts one process and waits until it is ready to begin. */
export async function startCounting(task: CounterTask): Promise<Counting> {
  const child: Counting['child'] = startChild('test/process/children/counter.ts', [JSON.stringify(task)]);
  const { session = '' } = await child.next(({ session }) => session !== undefined, START_LIMIT_MS);
  return { child, session };
}

/** Lets one process for each task run to its end, all at once, and gives everything that they said. */
export async function runCounting(
  tasks: readonly CounterTask[],
  limitMs: number,
): Promise<(CounterLine & TroubleLine)[]> {
  const counting = await Promise.all(tasks.map(startCounting));
  for (const { child } of counting) child.send('go');
  await Promise.all(counting.map(({ child }) => finished(child, limitMs)));
  return counting.flatMap(({ child }) => child.lines);
}

/** Waits for its report and its end, which must follow by itself. */
export async function finished(child: Counting['child'], limitMs: number): Promise<void> {
  await child.next(({ increments }) => increments !== undefined, limitMs);
  await child.exited;
}

export interface Tally {
  readonly counter: number;
  /** The fence of each section that wrote, in the order of the writes. */
  readonly log: readonly number[];
}

export async function readTally(port: number): Promise<Tally> {
  const counter = Number(await ask(port, ['GET', COUNTER]));
  const log = asStrings(await ask(port, ['LRANGE', LOG, '0', '-1']));
  return { counter, log: log.map(Number) };
}
