/** Leaders in processes of their own: killed, frozen, flushed away. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Child, startChild, useChildren } from '../../support/processes/child.ts';
import { StallWatch } from '../../support/processes/stall-watch.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { START_LIMIT_MS } from '../limits.ts';
import type { ReplicaLine, ReplicaTask } from './replica.ts';

/** Long against the pauses of a busy machine. */
const LEASE_MS = 6_000;
/** How long a hand-over may take here: a lease, and a busy machine. */
const LIMIT_MS = 60_000;
/** What the guide promises. Only the end of the lease would take longer, and that takes four seconds at least. */
const HAND_OVER_MS_MAX = 1_000;
/** A hand-over beside a stall of the machine has not been measured. */
const TRIES_MAX = 4;

const redis = useRedis();
useChildren();

interface Term {
  readonly word: string;
  readonly fence: number;
  readonly pid: number;
  readonly atMs: number;
}

async function terms(): Promise<Term[]> {
  const lines = (await ask(redis.port, ['LRANGE', 'terms', '0', '-1'])) as string[];
  return lines.map((line) => {
    const [word = '', fence, pid, atMs] = line.split(' ');
    return { word, fence: Number(fence), pid: Number(pid), atMs: Number(atMs) };
  });
}

async function candidate(): Promise<Child<ReplicaLine>> {
  const task: ReplicaTask = {
    port: redis.port,
    does: 'leader',
    leaseMs: LEASE_MS,
    skewMs: 0,
    everyMs: 0,
    attempts: 1,
    workMs: 600_000,
  };
  const child = startChild<ReplicaLine>('test/process/jobs/replica.ts', [JSON.stringify(task)]);
  await child.next(({ ready }) => ready === true, START_LIMIT_MS);
  return child;
}

/** Two candidates, the first of which leads. */
async function pair(): Promise<{ first: Child<ReplicaLine>; second: Child<ReplicaLine> }> {
  await ask(redis.port, ['FLUSHALL']);
  const first = await candidate();
  await first.next(({ told }) => told === 'elected', LIMIT_MS);
  const second = await candidate();
  await waitFor(
    async () => Number(await ask(redis.port, ['HLEN', 'holdfast_line::holdfast_leader:{boss}'])) > 0,
    {
      limitMs: LIMIT_MS,
      what: 'the second waits in the line',
    },
  );
  return { first, second };
}

async function expectGrowing(): Promise<void> {
  const began = (await terms()).filter(({ word }) => word === 'began');
  const fences = began.map(({ fence }) => fence);
  expect([...new Set(fences)].sort((a, b) => a - b)).toEqual(fences);
}

describe('a leader', { timeout: 4 * START_LIMIT_MS }, () => {
  test('that is killed is followed when its lease is over, with a larger fence', async () => {
    const { first, second } = await pair();
    first.kill('SIGKILL');
    await second.next(({ told }) => told === 'elected', LIMIT_MS);
    await expectGrowing();
    second.kill('SIGKILL');
  });

  test('that is frozen is followed, and knows when it wakes that it leads no more', async () => {
    const { first, second } = await pair();
    first.kill('SIGSTOP');
    await second.next(({ told }) => told === 'elected', LIMIT_MS);
    first.kill('SIGCONT');
    await first.next(({ told }) => told === 'lost', LIMIT_MS);
    await expectGrowing();
    second.send('stop');
    await second.exited;
    // It waits in the line again.
    await first.next(({ told }) => told === 'elected', LIMIT_MS);
    first.kill('SIGKILL');
  });

  test('whose lock is flushed away is told, and one leads again', async () => {
    const { first, second } = await pair();
    await ask(redis.port, ['FLUSHALL']);
    await first.next(({ told }) => told === 'lost', LIMIT_MS);
    await Promise.any([first, second].map((one) => one.next(({ told }) => told === 'elected', LIMIT_MS)));
    for (const one of [first, second]) one.kill('SIGKILL');
  });

  test('that is told to stop hands over when its body has ended, in under a second', async () => {
    const watch = new StallWatch();
    onTestFinished(() => watch.end());
    for (let tries = 1; ; tries += 1) {
      const { first, second } = await pair();
      first.send('stop');
      const { stalledMs: here = 0 } = await second.next(({ told }) => told === 'elected', LIMIT_MS);
      const { stalledMs: there = 0 } = await first.next(({ told }) => told === 'resigned', LIMIT_MS);
      await waitFor(async () => (await terms()).length === 3, { limitMs: LIMIT_MS, what: 'the second term' });
      const [, ended, began] = await terms();
      expect([ended?.word, began?.word]).toEqual(['ended', 'began']);
      expect(ended?.pid).toBe(first.pid);
      second.kill('SIGKILL');
      // By the time of the server, which both have noted.
      const tookMs = (began?.atMs ?? Number.NaN) - (ended?.atMs ?? Number.NaN);
      const stalledMs = Math.max(here, there, watch.longestMs);
      if (tookMs >= HAND_OVER_MS_MAX && stalledMs > 0 && tries < TRIES_MAX) {
        console.info(`tried again after a stall of ${Math.round(stalledMs)} ms: it took ${tookMs} ms`);
        continue;
      }
      expect(tookMs).toBeLessThan(HAND_OVER_MS_MAX);
      return;
    }
  });
});
