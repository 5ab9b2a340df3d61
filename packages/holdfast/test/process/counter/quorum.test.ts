/** Four processes of ten callers each on five servers that freeze and die at random, two of them at a time. */

import { describe, expect, test } from 'vitest';
import { useServers } from '../../fault/quorum/support.ts';
import { rowsOf, upTo } from '../../support/extent.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { expectGrowing } from '../../support/locks/fences.ts';
import { useChildren } from '../../support/processes/child.ts';
import { seeded } from '../../support/seeded.ts';
import { ask, asStrings } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { CLIENT_KINDS } from '../children/store.ts';
import { START_LIMIT_MS } from '../limits.ts';
import { readTally, runCounting } from './counting-processes.ts';
import { NodeFaults } from './node-faults.ts';
import type { CounterTask } from './task.ts';

const CALLERS = 10;
const LEASE_MS = 5_000;
/** The lease and its drift, and the second that an uptime may be wrong by, and a little for the asking. */
const GUARD_MS = 6_500;
const LIMIT_MS = 240_000;
/** More than these, or it was a run without faults: on a fast machine it is over too soon, and is run again. */
const FREEZES_MIN = 5;
const RUNS_MAX = 10;
const SEED = Number(process.env['HOLDFAST_SEED'] ?? 1);

const store = useRedis();
const servers = useServers(5);
useLeakCheck([store, ...servers], { ignoreKeys: [/^redisson_lock_token:/, /^counter$/, /^log$/] });
useChildren();

type Lines = Awaited<ReturnType<typeof runCounting>>;

function tasks(guard: CounterTask['guard'], increments: number, handovers: number | null): CounterTask[] {
  const quorum = servers.map(({ port }) => port);
  const share = increments / CLIENT_KINDS.length;
  const rest = { handovers, leaseMs: LEASE_MS, quorum, nodeTimeoutMs: 200 };
  return CLIENT_KINDS.map((client) => {
    return { port: store.port, client, guard, callers: CALLERS, increments: share, ...rest };
  });
}

async function locksLeft(): Promise<string[]> {
  const keys = await Promise.all(servers.map(async ({ port }) => asStrings(await ask(port, ['KEYS', '*']))));
  return keys.flat().filter((key) => !/^(redisson_lock_token|holdfast_session):/.test(key));
}

/** Sections that found their lease lost and did not write. */
const lossesOf = (lines: Lines): number => lines.reduce((sum, line) => sum + (line.losses ?? 0), 0);

/** Runs them while servers fail, and gives what they said. */
async function run(all: readonly CounterTask[], seed: number): Promise<Lines> {
  const faults = new NodeFaults(servers, { fraction: seeded(seed), guardMs: GUARD_MS });
  const hasStruck = (): boolean => faults.freezes > FREEZES_MIN && faults.kills > 0;
  const lines: Lines = [];
  try {
    for (let runs = 0; runs === 0 || (runs < RUNS_MAX && !hasStruck()); runs += 1)
      lines.push(...(await runCounting(all, LIMIT_MS)));
  } finally {
    await faults.end();
  }
  expect(faults.freezes).toBeGreaterThan(FREEZES_MIN);
  expect(faults.kills).toBeGreaterThan(0);
  // What a process could not release before it ended, time does.
  await waitFor(async () => (await locksLeft()).length === 0, { limitMs: 10 * LEASE_MS });
  return lines;
}

describe('under faults of a minority', { timeout: LIMIT_MS + START_LIMIT_MS }, () => {
  test('a counter under a lock is exact, and its fences grow in the order of the grants', async () => {
    const increments = upTo(2_000, 10_000);
    const lines = await run(tasks('lock', increments, null), SEED);
    const { counter, log } = await readTally(store.port);
    expect(lines.flatMap(({ trouble = [] }) => trouble)).toEqual([]);
    expect(counter).toBe(log.length);
    expect(log.length + lossesOf(lines)).toBeGreaterThanOrEqual(increments);
    expectGrowing(log);
    expect(new Set(log).size).toBe(log.length);
  });

  const ANEW = rowsOf([{ guard: 'mutex', isMatrix: true }] as const);
  test.each(ANEW)('a counter under a $guard that each caller takes anew is exact', async ({ guard }) => {
    const increments = 1_000;
    const lines = await run(tasks(guard, increments, 0), SEED + 1);
    const { counter, log } = await readTally(store.port);
    expect(lines.flatMap(({ trouble = [] }) => trouble)).toEqual([]);
    expect(counter).toBe(log.length);
    expect(log.length + lossesOf(lines)).toBeGreaterThanOrEqual(increments);
  });
});
