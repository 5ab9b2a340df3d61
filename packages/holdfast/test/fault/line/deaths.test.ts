/** What a killed waiter, a flushed server and a forgotten script cost those who wait. */
import { describe, expect, test, vi } from 'vitest';
import type { Lease, Locks } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { untilWaiting } from '../../support/locks/held.ts';
import { LOCK } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { type Child, startChild, useChildren } from '../../support/processes/child.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { steady } from '../../support/steady.ts';
import type { ChildPlan, ChildWord } from '../waiting/child.ts';

const redis = useRedis();
// The ticket of a process that was killed stays in the line until its time is over.
useLeakCheck(redis, { checksHandles: false, ignoreKeys: [/redisson_lock_token:/, /holdfast_line:/] });
useChildren();
const bench = useBench();
const STEADY = steady();

const CLAIM_MS = 1_000;
/** Those in line ask again this soon. */
const ASK_MS = 1_000;
const LEASE_MS = 60_000;
const START_LIMIT_MS = 120_000;
vi.setConfig({ testTimeout: 400_000 });

interface Scene {
  readonly name: string;
  readonly lease: Lease;
  readonly victim: Child<ChildWord>;
  readonly next: Promise<Lease>;
}

/** Somebody owns the lock; a process that will be killed is first in line, a session of ours is second. */
async function setup(mode: ChildPlan['mode']): Promise<Scene> {
  const [owner, locks] = await Promise.all([session(), session()]);
  const name = bench.name();
  const lease = await owner.lock(name).acquire();
  const plan: ChildPlan = {
    mode,
    port: redis.port,
    kind: 'lock',
    name,
    leaseMs: LEASE_MS,
    handovers: 64,
    claimMs: CLAIM_MS,
  };
  const victim = startChild<ChildWord>('test/fault/waiting/child.ts', [JSON.stringify(plan)]);
  await untilWaiting(redis.port, name, 1, START_LIMIT_MS);
  const next = locks.lock(name).acquire();
  next.catch(() => {});
  await untilWaiting(redis.port, name, 2);
  return { name, lease, victim, next };
}

async function session(): Promise<Locks> {
  const locks = await bench.session(redis.port, { leaseMs: LEASE_MS });
  await warmUp(locks, LOCK);
  return locks;
}

/** After how long somebody is served. */
async function servedWithin(waiting: Promise<Lease>): Promise<number> {
  const startMs = performance.now();
  const lease = await waiting;
  const tookMs = performance.now() - startMs;
  expect(await lease.release()).toBe(true);
  return tookMs;
}

describe('a waiter that is killed', () => {
  test(
    'while it is first in line costs the others nothing that can be told from a slow machine',
    STEADY,
    async () => {
      const { lease, victim, next } = await setup('waiter');
      expect(await victim.kill()).toMatchObject({ signal: 'SIGKILL' });
      await lease.release();
      expect(await servedWithin(next)).toBeLessThan(CLAIM_MS + ASK_MS);
    },
  );

  test(
    'when it has the lock and has not stated its lease costs the others a claim and a second',
    STEADY,
    async () => {
      const { lease, victim, next } = await setup('dies-granted');
      await lease.release();
      const tookMs = await servedWithin(next);
      expect(await victim.exited).toMatchObject({ signal: 'SIGKILL' });
      expect(tookMs).toBeLessThan(CLAIM_MS + ASK_MS);
    },
  );
});

describe('three processes that wait', () => {
  async function waiters(): Promise<{ name: string; lease: Lease; waits: Promise<Lease>[] }> {
    const [owner, ...all] = (await Promise.all(Array.from({ length: 4 }, session))) as [Locks, ...Locks[]];
    const name = bench.name();
    const lease = await owner.lock(name).acquire();
    const waits: Promise<Lease>[] = [];
    for (const [i, locks] of all.entries()) {
      waits.push(locks.lock(name).acquire());
      await untilWaiting(redis.port, name, i + 1);
    }
    return { name, lease, waits };
  }

  /** All are served one after the other, whoever is first. */
  async function allServedWithin(waits: readonly Promise<Lease>[]): Promise<number> {
    const startMs = performance.now();
    await Promise.all(waits.map(async (wait) => expect(await (await wait).release()).toBe(true)));
    return performance.now() - startMs;
  }

  test('are served within five seconds when everything was flushed', STEADY, async () => {
    const { waits } = await waiters();
    await ask(redis.port, ['FLUSHALL']);
    expect(await allServedWithin(waits)).toBeLessThan(5_000);
  });

  test('are served at the release when the scripts were flushed', STEADY, async () => {
    const { lease, waits } = await waiters();
    await ask(redis.port, ['SCRIPT', 'FLUSH']);
    expect(await lease.release()).toBe(true);
    expect(await allServedWithin(waits)).toBeLessThan(CLAIM_MS + ASK_MS);
  });

  test('are served when the line alone was lost', STEADY, async () => {
    const { name, lease, waits } = await waiters();
    await ask(redis.port, ['DEL', `holdfast_line:{${name}}`]);
    expect(await lease.release()).toBe(true);
    expect(await allServedWithin(waits)).toBeLessThan(5_000);
  });
});
