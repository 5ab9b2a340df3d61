/**
 * Replicas with clocks seconds apart, killed and restarted at random: never two starts of a slot and attempt, never an early
 * one. A few seconds in `npm test`; `npm run test:jobs` has ten replicas for two minutes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Child, startChild, useChildren } from '../../support/processes/child.ts';
import { seeded } from '../../support/seeded.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { START_LIMIT_MS } from '../limits.ts';
import type { ReplicaLine, ReplicaTask } from './replica.ts';

const SECONDS = Number(process.env['HOLDFAST_JOBS_SECONDS'] ?? 4);
const REPLICAS = SECONDS > 10 ? 10 : 3;
/** Short beside a slot: the second attempt of a run that was killed comes before the next slot. */
const LEASE_MS = 300;

const redis = useRedis();
useChildren();

interface Start {
  readonly slotMs: number;
  readonly attempt: number;
  readonly fence: number;
  readonly atMs: number;
}

async function startsSoFar(): Promise<Start[]> {
  const lines = (await ask(redis.port, ['LRANGE', 'starts', '0', '-1'])) as string[];
  return lines.map((line) => {
    const [slotMs = 0, attempt = 0, fence = 0, , atMs = 0] = line.split(' ').map(Number);
    return { slotMs, attempt, fence, atMs };
  });
}

test(`${REPLICAS} replicas with clocks seconds apart, killed and restarted for ${SECONDS} s`, {
  timeout: 2 * START_LIMIT_MS + SECONDS * 2_000,
}, async () => {
  const random = seeded(7);
  const open = (): Child<ReplicaLine> => {
    const skewMs = Math.round((random() - 0.5) * 20_000);
    const task: ReplicaTask = {
      port: redis.port,
      does: 'job',
      leaseMs: LEASE_MS,
      skewMs,
      everyMs: 1_000,
      attempts: 2,
      workMs: Math.round(random() * 600),
    };
    return startChild<ReplicaLine>('test/process/jobs/replica.ts', [JSON.stringify(task)]);
  };
  const replicas = Array.from({ length: REPLICAS }, open);
  await Promise.all(replicas.map((replica) => replica.next(({ ready }) => ready === true, START_LIMIT_MS)));
  await waitFor(async () => (await startsSoFar()).length > 0, {
    limitMs: START_LIMIT_MS,
    what: 'a first run',
  });
  let kills = 0;
  for (const endMs = performance.now() + SECONDS * 1_000; performance.now() < endMs; ) {
    await sleep(200 + random() * 600);
    const at = Math.floor(random() * replicas.length);
    replicas[at]?.kill('SIGKILL');
    replicas[at] = open();
    kills += 1;
  }
  await Promise.all(
    replicas.map(async (replica) => {
      replica.kill('SIGKILL');
      await replica.exited;
    }),
  );
  const starts = await startsSoFar();
  const slots = new Set(starts.map(({ slotMs }) => slotMs)).size;
  const repeats = starts.filter(({ attempt }) => attempt > 1).length;
  if (SECONDS > 10)
    console.log(`${kills} replicas killed; ${slots} slots started, ${repeats} of them a second time`);
  expect(kills).toBeGreaterThan(0);
  expect(starts.length).toBeGreaterThan(0);
  const early = starts.filter(({ slotMs, atMs }) => atMs < slotMs);
  expect(early).toEqual([]);
  const names = starts.map(({ slotMs, attempt }) => `${slotMs} ${attempt}`);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  // In the order of slots and attempts, not of their notes: a process may stall between its start and its note.
  const inOrder = [...starts].sort((a, b) => a.slotMs - b.slotMs || a.attempt - b.attempt);
  const fences = inOrder.map(({ fence }) => fence);
  expect([...fences].sort((a, b) => a - b)).toEqual(fences);
  for (const replica of replicas) expect(replica.stderr).toBe('');
});
