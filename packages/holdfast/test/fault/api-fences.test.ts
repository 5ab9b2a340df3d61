/** The order of fences is the order of grants, whatever the network does to the answers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { useLeakCheck } from '../support/leak-check.ts';
import { ask } from '../support/raw-redis.ts';
import { useRedis } from '../support/redis-server.ts';
import { type ClientKind, held, LOCK, seeded, useBench } from './acquire-support.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const ACQUISITIONS = 200;
const SEED = 17;

test(`fences grow with each grant: 4 sessions of ${ACQUISITIONS} acquisitions with random delays (seed ${SEED})`, async () => {
  const random = seeded(SEED);
  const name = bench.name();
  const fences: number[] = [];
  let inside = 0;
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
        await locks.lock(name).using(async ({ fence }) => {
          inside += 1;
          expect(inside).toBe(1);
          fences.push(fence);
          if (random() < 0.2) await sleep(random() * 2);
          inside -= 1;
        });
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
  });
  await Promise.all(running);
  expect(fences).toHaveLength(plans.length * ACQUISITIONS);
  const unordered = fences.findIndex((fence, index) => fence <= (fences[index - 1] ?? 0));
  expect(unordered).toBe(-1);
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
  expect(fences).toEqual(fences.toSorted((a, b) => a - b));
  expect(new Set(fences).size).toBe(12);
});

test('a fence stays larger after its counter is lost, and after one that is ahead of the clock', async () => {
  const locks = await bench.session(redis.port);
  const name = bench.name();
  const counter = `redisson_lock_token:{${name}}`;
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
