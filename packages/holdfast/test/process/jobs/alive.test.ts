/** A schedule, a leader and a job keep their process alive, until they are stopped or the `Locks` closes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startChild, useChildren } from '../../support/processes/child.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { START_LIMIT_MS } from '../limits.ts';
import type { IdleLine, IdleTask } from './idle.ts';

/** A process that nothing holds is gone within milliseconds. */
const STAY_MS = 1_000;
/** Ending takes milliseconds. A process that something holds never ends. */
const LEAVE_MS_MAX = 60_000;

const redis = useRedis();
useChildren();

test.concurrent.each([
  ['schedule', 'stop'],
  ['schedule', 'close'],
  ['leader', 'stop'],
  ['leader', 'close'],
  ['job', 'close'],
  ['job', 'destroy'],
] as const)(
  'a %s keeps its process alive until %s',
  { timeout: START_LIMIT_MS + LEAVE_MS_MAX },
  async (does, ends) => {
    const task: IdleTask = { port: redis.port, does, ends };
    const child = startChild<IdleLine>('test/process/jobs/idle.ts', [JSON.stringify(task)]);
    await child.next(({ ready }) => ready, START_LIMIT_MS);
    await Promise.race([child.exited, sleep(STAY_MS)]);
    expect(child.isRunning, child.stderr).toBe(true);
    const left = child.kill('SIGUSR2');
    await Promise.race([left, sleep(LEAVE_MS_MAX)]);
    expect(child.isRunning).toBe(false);
    expect(await left).toEqual({ code: 0, signal: null });
    expect(child.lines).toEqual([{ ready: true }]);
  },
);
