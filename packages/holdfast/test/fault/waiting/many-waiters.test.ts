/** Many waiters cost no more than one: commands per release do not grow with them, and every one is served. */

import { describe, expect, test } from 'vitest';
import { CHANNELS, type Locks, type WokenMessage } from '../../../src/index.ts';
import { type ClientKind, useBench } from '../../support/bench.ts';
import { gate } from '../../support/gate.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { CriticalSection } from '../../support/locks/critical-section.ts';
import { untilFree, untilWaiting } from '../../support/locks/held.ts';
import { KINDS, LOCK } from '../../support/locks/kind.ts';
import { commandCounts, untilQuiet } from '../../support/servers/commands.ts';
import { useRedis } from '../../support/servers/redis-server.ts';

import { MATRIX } from '../matrix.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const LEASE_MS = 60_000;

const sessions = (count: number, client: ClientKind, handovers = 64): Promise<Locks[]> =>
  Promise.all(
    Array.from({ length: count }, () => bench.session(redis.port, { client, handovers, leaseMs: LEASE_MS })),
  );

/** How many have looked of their own accord since, because they had slept for long enough. */
function looks(name: string): () => number {
  const woken = bench.diagnostics<WokenMessage>(CHANNELS.woken);
  return () => woken.filter(({ lock, reason }) => lock === name && reason === 'time').length;
}

describe.each(MATRIX)('$client, $kind.name: a thousand callers of one process', ({ client, kind }) => {
  test('have one place in line, and a release costs one attempt for all of them', async () => {
    const [owner, locks] = (await sessions(2, client)) as [Locks, Locks];
    const name = bench.name();
    const lease = await kind.of(owner, name).acquire();
    const section = new CriticalSection();
    const [entered, leave] = [gate(), gate()];
    const callers = Array.from({ length: 1_000 }, (_, index) =>
      kind.of(locks, name).using((lease) =>
        section.run(async () => {
          if (index > 0) return;
          // The first one stays, so that the cost of getting in is seen alone.
          entered.open();
          await leave.opened;
        }, lease),
      ),
    );
    await untilWaiting(redis.port, name, 1);
    await untilQuiet(redis);
    const looked = looks(name);
    const counts = await commandCounts(redis);
    expect(await lease.release()).toBe(true);
    await entered.opened;
    const cost = await counts.delta();
    // The grant. A mutex may be left to those who poll for a moment: then its first is told when to ask, and everybody else.
    expect(cost['publish']).toBeLessThanOrEqual(kind === LOCK ? 1 : 2);
    // The release; an ask if the last one was long ago; the statement of the lease.
    expect(cost['evalsha']).toBeLessThanOrEqual(3 + looked());
    await counts.restart();
    leave.open();
    await Promise.all(callers);
    expect(section.runs).toBe(1_000);
    const { evalsha = 0 } = await counts.delta();
    // Passed on within the process 64 times for each acquisition and release in Redis.
    expect(evalsha).toBeLessThan(200);
    await untilWaiting(redis.port, name, 0);
  });
});

describe.each(KINDS)('forty sessions that wait, $name', (kind) => {
  test('cost no more at a release than one of them would', async () => {
    const owner = await bench.session(redis.port, { leaseMs: LEASE_MS });
    const [ioredis, nodeRedis] = await Promise.all([sessions(20, 'ioredis'), sessions(20, 'node-redis')]);
    const name = bench.name();
    const lease = await kind.of(owner, name).acquire();
    const controllers: AbortController[] = [];
    const waiting = [...ioredis, ...nodeRedis].map((locks) => {
      const controller = new AbortController();
      controllers.push(controller);
      return kind.of(locks, name).acquire({ signal: controller.signal });
    });
    // Looked at below; those that are aborted are not failures.
    for (const promise of waiting) promise.catch(() => {});
    await untilWaiting(redis.port, name, 40);
    await untilQuiet(redis);
    const looked = looks(name);
    const counts = await commandCounts(redis);
    expect(await lease.release()).toBe(true);
    const next = await Promise.race(waiting);
    await untilQuiet(redis);
    const { evalsha = 0 } = await counts.delta();
    // The release; an ask of the next owner if its last one was long ago; the statement of its lease.
    expect(evalsha).toBeLessThanOrEqual(3 + looked());
    for (const controller of controllers) controller.abort();
    expect(await next.release()).toBe(true);
    await Promise.allSettled(waiting);
    await untilWaiting(redis.port, name, 0);
    await untilFree(redis.port, kind, name);
  });
});

describe.each(KINDS)('every waiter is served, $name', (kind) => {
  test.each([
    { ending: 'after a release', ttlMs: LEASE_MS },
    { ending: 'after the lock has run out', ttlMs: 600 },
  ])('$ending', async ({ ttlMs }) => {
    const name = bench.name();
    await kind.seize(redis.port, name, ttlMs);
    const all = [
      ...(await sessions(2, 'ioredis')),
      ...(await sessions(2, 'node-redis', 0)),
      ...(await sessions(1, 'ioredis', 0)),
    ];
    const served = new Map<string, number>();
    const section = new CriticalSection();
    const callers = all.flatMap((locks, session) =>
      Array.from({ length: 6 }, (_, caller) =>
        kind.of(locks, name).using(
          (lease) =>
            section.run(async () => {
              await new Promise((resolve) => setImmediate(resolve));
              served.set(`${session}:${caller}`, (served.get(`${session}:${caller}`) ?? 0) + 1);
            }, lease),
          { renew: caller % 2 === 0 },
        ),
      ),
    );
    if (ttlMs === LEASE_MS) {
      await untilWaiting(redis.port, name, all.length);
      const other = await bench.session(redis.port);
      await other.forceRelease(name);
    }
    await Promise.all(callers);
    expect(served.size).toBe(30);
    expect(new Set(served.values())).toEqual(new Set([1]));
    await untilWaiting(redis.port, name, 0);
  });
});
