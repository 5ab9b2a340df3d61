/** The order of fences is the order of grants, whatever the network does to the answers. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type ClientKind, useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { CriticalSection } from '../../support/locks/critical-section.ts';
import { expectGrowing } from '../../support/locks/fences.ts';
import { held } from '../../support/locks/held.ts';
import { fenceCounter, LOCK } from '../../support/locks/kind.ts';
import { seeded } from '../../support/seeded.ts';
import { ask, askAll } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

/** What TIME tells, in microseconds. */
function micros(time: unknown): number {
  const [seconds, more] = time as [string, string];
  return Number(seconds) * 1_000_000 + Number(more);
}

const ACQUISITIONS = 200;
const SEED = 17;

test(`fences grow with each grant: 4 sessions of ${ACQUISITIONS} acquisitions with random delays (seed ${SEED})`, async () => {
  const random = seeded(SEED);
  const name = bench.name();
  const fences: number[] = [];
  const section = new CriticalSection();
  // Passing the lock on inside a process and not, one caller at a time and several.
  const plans: { client: ClientKind; handovers: number; callers: number }[] = [
    { client: 'ioredis', handovers: 64, callers: 5 },
    { client: 'ioredis', handovers: 0, callers: 1 },
    { client: 'node-redis', handovers: 3, callers: 4 },
    { client: 'node-redis', handovers: 64, callers: 1 },
  ];
  const running = plans.map(async ({ client, handovers, callers }) => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, handovers, leaseMs: 60_000 });
    const caller = async (): Promise<void> => {
      for (let i = 0; i < ACQUISITIONS / callers; i += 1) {
        proxy.delay(Math.floor(random() * 3));
        await locks.lock(name).using((lease) =>
          section.run(async () => {
            fences.push(lease.fence);
            if (random() < 0.2) await sleep(random() * 2);
          }, lease),
        );
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
  });
  await Promise.all(running);
  expect(fences).toHaveLength(plans.length * ACQUISITIONS);
  expectGrowing(fences);
}, 120_000);

test('a grant whose answer was lost does not give its fence to anybody else', async () => {
  const name = bench.name();
  const fences: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    const proxy = await bench.proxy(redis.port);
    const client = round % 2 === 0 ? 'ioredis' : 'node-redis';
    const locks = await bench.session(proxy.port, { client, leaseMs: 60_000 });
    const cut = proxy.cutAfterRequest(LOCK.acquires);
    await locks.lock(name).using(async ({ fence }) => {
      await cut;
      fences.push(fence);
    });
    await locks.lock(name).using(({ fence }) => fences.push(fence));
  }
  expect(fences).toHaveLength(12);
  expectGrowing(fences);
});

test('a fence stays larger after its counter is lost, and after one that is ahead of the clock', async () => {
  const locks = await bench.session(redis.port);
  const name = bench.name();
  const counter = fenceCounter(name);
  const take = (): Promise<number> => locks.lock(name).using(({ fence }) => fence);
  const first = await take();
  await ask(redis.port, ['DEL', counter]);
  const second = await take();
  expect(second).toBeGreaterThan(first);
  const ahead = second + 10 ** 12;
  await ask(redis.port, ['SET', counter, `${ahead}`]);
  expect(await take()).toBe(ahead + 1);
  await locks.lock(name).using(async ({ fence }) => {
    expect(fence).toBe(ahead + 2);
    // Entering again keeps it: it is the same hold of the same resource.
    expect(await locks.lock(name).using((inner) => inner.fence)).toBe(fence);
    expect((await held(redis.port, LOCK, name))?.fence).toBe(fence);
  });
});

test('blocks of thousands of fences do not outrun the clock: they grow after everything was flushed', async () => {
  const name = bench.name();
  const counter = fenceCounter(name);
  // As bad as options get: a block for all that wait, and a hold that is never passed on.
  const locks = await bench.session(redis.port, { handovers: 10_000, handoverMs: 0, leaseMs: 60_000 });
  const fences: number[] = [];
  const enough = new AbortController();
  let [stored, nowUs] = [0, 0];
  const callers = Array.from({ length: 9_000 }, () =>
    locks.lock(name).using(
      async ({ fence }) => {
        fences.push(fence);
        if (fences.length !== 150) return;
        const [last, time] = await askAll(redis.port, [['GET', counter], ['TIME']]);
        [stored, nowUs] = [Number(last), micros(time)];
        enough.abort();
      },
      { signal: enough.signal },
    ),
  );
  await Promise.allSettled(callers);
  expect(fences.length).toBeGreaterThanOrEqual(150);
  expectGrowing(fences);
  expect(stored).toBeLessThanOrEqual(nowUs + 1_000);
  await ask(redis.port, ['FLUSHALL']);
  // What a block may be ahead by.
  await waitFor(async () => micros(await ask(redis.port, ['TIME'])) > nowUs + 1_000);
  const next = await locks.lock(name).using(({ fence }) => fence);
  expect(next).toBeGreaterThan(Math.max(stored, ...fences));
}, 120_000);

test('the counter of a lock outlives it, also after its lease is extended', async () => {
  const locks = await bench.session(redis.port, { fenceTtlMs: 60_000 });
  const name = bench.name();
  const lease = await locks.lock(name).acquire({ leaseMs: 60_000 });
  await lease.extend(3_600_000);
  const [lockMs, counterMs] = await askAll(redis.port, [
    ['PEXPIRETIME', name],
    ['PEXPIRETIME', fenceCounter(name)],
  ]);
  // To within a moment: the two are stated one after the other.
  expect(Math.abs(Number(counterMs) - Number(lockMs) - 60_000)).toBeLessThan(5_000);
  // The end of its block.
  expect((await locks.inspect(name)) as { fence?: number }).toMatchObject({ fence: lease.fence + 64 });
  await lease.release();
});
