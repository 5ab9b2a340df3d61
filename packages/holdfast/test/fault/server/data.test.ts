/** A server that loses what it held, or keeps it, while we hold a lock. */

import { describe, expect, test } from 'vitest';
import type { Lease } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { expectGrowing, fenceOf } from '../../support/locks/fences.ts';
import { held, untilListening } from '../../support/locks/held.ts';
import { KINDS, LOCK } from '../../support/locks/kind.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { startRedis, useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

async function expectGone(lease: Lease): Promise<void> {
  await waitFor(() => lease.signal.aborted, { what: 'the loss to be told' });
  expect(lease.isHeld).toBe(false);
  expect(lease.signal.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'gone' });
  expect(await lease.release()).toBe(false);
}

describe.each(MATRIX)('$client, $kind.name: a server', ({ client, kind }) => {
  test('that evicts the lock is noticed at the next renewal, and the check warns of it', async () => {
    const locks = await bench.session(redis.port, { client, leaseMs: 6_000 });
    bench.onEnd(async () => {
      await ask(redis.port, ['CONFIG', 'SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction']);
    });
    expect(await locks.check()).toEqual([]);
    const lease = await kind.of(locks, bench.name()).acquire();
    await ask(redis.port, ['CONFIG', 'SET', 'maxmemory-policy', 'allkeys-random', 'maxmemory', '1']);
    // Any write makes it look for room, and it finds ours.
    await ask(redis.port, ['SET', 'filler', 'x']);
    expect(await ask(redis.port, ['DBSIZE'])).toBe(0);
    await expectGone(lease);
    const [finding, ...others] = await locks.check();
    expect(finding).toMatchObject({ code: 'EVICTION', message: expect.stringContaining('allkeys-random') });
    expect(others).toEqual([]);
  });

  test('that restarts empty is noticed at the next renewal, and fences still grow', async () => {
    // Longer than a restart, so that a renewal finds out.
    const locks = await bench.session(redis.port, { client, leaseMs: 6_000 });
    const name = bench.name();
    const lease = await kind.of(locks, name).acquire();
    await redis.kill();
    await redis.restart();
    expect(await ask(redis.port, ['DBSIZE'])).toBe(0);
    await expectGone(lease);
    const next = await kind.of(locks, name).acquire();
    expect(await held(redis.port, kind, name)).toMatchObject({ count: 1 });
    if (kind === LOCK) expectGrowing([fenceOf(lease), fenceOf(next)]);
    expect(await next.release()).toBe(true);
  });

  test('that restarts empty is noticed by a release too', async () => {
    const locks = await bench.session(redis.port, { client, leaseMs: 60_000 });
    const name = bench.name();
    const lease = await kind.of(locks, name).acquire();
    await redis.kill();
    await redis.restart();
    expect(await lease.release()).toBe(false);
    expect(await kind.of(locks, name).using(() => 'free')).toBe('free');
  });
});

test.each(KINDS)(
  'a server that restarts with its log keeps the lock, and waiters wait on: $name',
  async (kind) => {
    const durable = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    bench.onEnd(() => durable.stop());
    const owner = await bench.session(durable.port, { leaseMs: 20_000 });
    const other = await bench.session(durable.port, { client: 'node-redis', leaseMs: 20_000 });
    const name = bench.name();
    const lease = await kind.of(owner, name).acquire();
    const before = await held(durable.port, kind, name);
    const waiting = kind.of(other, name).acquire();
    await untilListening(durable.port, kind, name);
    await durable.kill();
    await durable.restart();
    expect(await held(durable.port, kind, name)).toMatchObject({
      owner: before?.owner,
      count: 1,
      fence: before?.fence,
    });
    expect(await kind.of(other, `${name}:other`).using(() => 'served')).toBe('served');
    await lease.extend(20_000);
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe(true);
    const next = await waiting;
    if (kind === LOCK) expectGrowing([fenceOf(lease), fenceOf(next)]);
    expect(await next.release()).toBe(true);
  },
);
