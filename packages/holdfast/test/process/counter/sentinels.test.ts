/**
 * Four processes of ten callers each, while one primary after the other steps down, in an orderly way and by
 * being killed. In the matrix for a minute; otherwise until two have gone.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { rowsOf, upTo } from '../../support/extent.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { expectGrowing } from '../../support/locks/fences.ts';
import { useChildren } from '../../support/processes/child.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { useSentinels } from '../../support/servers/sentinel-group.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { ClientKind } from '../children/store.ts';
import { START_LIMIT_MS } from '../limits.ts';
import { finished, readTally, startCounting } from './counting-processes.ts';
import type { CounterTask } from './task.ts';

const FAILOVERS = upTo(2, 6);
const EVERY_MS = upTo(0, 10_000);
const LIMIT_MS = 180_000;
/** Fewer show nothing. */
const SECTIONS_MIN = 100;
const CALLERS = 10;
const LEASE_MS = 5_000;
/** What this machine may take on top of it all. Who hangs does so to the end. */
const STALL_MS = 20_000;
/** For a process that has nothing left to do. */
const LEAVE_MS_MAX = 4_000;
/** Version 5 of node-redis tells nothing of its sentinels, so it is not among them. */
const CLIENTS: readonly ClientKind[] = ['ioredis', 'ioredis-5', 'redis', 'redis'];

const store = useRedis();
const group = useSentinels();
useLeakCheck([store], { ignoreKeys: [/^counter$/, /^log$/, /^fence$/] });
useChildren();

/** How long each failover took, from its cause to a primary that is one. */
async function failOverAndOver(): Promise<number[]> {
  const tookMs: number[] = [];
  for (let i = 0; i < FAILOVERS; i += 1) {
    const startedMs = performance.now();
    if (i % 2 === 0) {
      await group.failOver();
    } else {
      const primary = await group.primary();
      await primary.kill();
      await group.untilAnother(primary);
    }
    tookMs.push(performance.now() - startedMs);
    await group.restore();
    await sleep(Math.max(0, EVERY_MS - (performance.now() - startedMs)));
  }
  return tookMs;
}

interface Outcome {
  readonly trouble: readonly string[];
  readonly increments: number;
  readonly losses: number;
  readonly refusals: number;
  readonly violations: number;
  readonly pauseMs: number;
  readonly failoverMs: number;
}

async function run(own: Partial<CounterTask>): Promise<Outcome> {
  const tasks = CLIENTS.map((client): CounterTask => {
    const { port } = store;
    const common = {
      port,
      client,
      guard: 'lock',
      callers: CALLERS,
      increments: null,
      handovers: null,
    } as const;
    return { ...common, leaseMs: LEASE_MS, sentinels: group.addresses, ...own };
  });
  const counting = await Promise.all(tasks.map(startCounting));
  for (const { child } of counting) child.send('go');
  const failoversMs = await failOverAndOver();
  // On a machine that is busy with something else the failovers may take all of the time.
  await waitFor(async () => (await readTally(store.port)).counter > SECTIONS_MIN, {
    limitMs: LIMIT_MS,
    what: `${SECTIONS_MIN} sections`,
  });
  for (const { child } of counting) child.send('stop');
  await Promise.all(counting.map(({ child }) => finished(child, LIMIT_MS)));
  const lines = counting.flatMap(({ child }) => child.lines);
  // No session was closed: connections to servers and sentinels keep no process alive.
  for (const { child } of counting) expect(child.lines.at(-1)?.leftAfterMs).toBeLessThan(LEAVE_MS_MAX);
  const sum = (key: 'increments' | 'losses' | 'refusals' | 'violations'): number =>
    lines.reduce((total, line) => total + (line[key] ?? 0), 0);
  return {
    trouble: lines.flatMap(({ trouble = [] }) => trouble),
    increments: sum('increments'),
    losses: sum('losses'),
    refusals: sum('refusals'),
    violations: sum('violations'),
    pauseMs: Math.max(...lines.map(({ pauseMs = 0 }) => pauseMs)),
    failoverMs: Math.max(...failoversMs),
  };
}

function tell(title: string, outcome: Outcome): void {
  const { increments, losses, refusals, violations, pauseMs, failoverMs } = outcome;
  const sections = `${increments} sections, ${losses} lost, ${refusals} refused, ${violations} of them still held`;
  const pause = `longest pause ${Math.round(pauseMs)} ms, longest failover ${Math.round(failoverMs)} ms`;
  console.info(`${title}: ${sections}; ${pause}`);
}

describe('while one primary after the other goes', { timeout: LIMIT_MS + START_LIMIT_MS }, () => {
  test('a counter is exact with replica acknowledgement, and nobody hangs', async () => {
    const outcome = await run({ replicas: 1 });
    const { counter, log } = await readTally(store.port);
    tell('with replicas', outcome);
    expect(outcome.trouble).toEqual([]);
    expect(counter).toBe(log.length);
    expectGrowing(log);
    expect(outcome.pauseMs).toBeLessThan(outcome.failoverMs + LEASE_MS + STALL_MS);
  });

  const FENCED = rowsOf([{ checksFence: true, isMatrix: true }]);
  test.each(FENCED)('a fenced counter is exact without it, and nobody hangs', async ({ checksFence }) => {
    const outcome = await run({ checksFence });
    const { counter, log } = await readTally(store.port);
    tell('fenced, without replicas', outcome);
    expect(outcome.trouble).toEqual([]);
    expect(counter).toBe(log.length);
    expectGrowing([...new Set(log)]);
    expect(outcome.pauseMs).toBeLessThan(outcome.failoverMs + LEASE_MS + STALL_MS);
  });
});
