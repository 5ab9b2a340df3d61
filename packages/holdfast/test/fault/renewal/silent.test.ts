/**
 * A TCP connection goes silent: packets vanish, and neither side is told. A new connection would work at once. Renewals
 * must not stay on the dead one for longer than the lease can bear. How long that is to the millisecond is asked by a
 * clock of the test's own, in `clients/silent-connection.test.ts`.
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import { Locks } from '../../../src/index.ts';
import { FLAVOURS } from '../../clients/flavours.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held, untilFree } from '../../support/locks/held.ts';
import { LOCK } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';
import { outlivesSilence } from '../silent-connection.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

describe.each(FLAVOURS)('by $name', { timeout: 60_000 }, ({ make }) => {
  test.each([1_000, 3_000])('a lease of %i ms outlives a connection that goes silent', async (leaseMs) => {
    const proxy = await bench.proxy(redis.port);
    const caller = await make({ port: proxy.port });
    const locks = new Locks(caller.client, { leaseMs });
    onTestFinished(async () => {
      await locks.destroy();
      await caller.end();
    });
    await warmUp(locks, LOCK);
    const name = bench.name();
    const acquire = () => locks.lock(name).acquire();
    await outlivesSilence({ acquire, proxies: [proxy], renews: LOCK.renews });
    expect(await held(redis.port, LOCK, name)).toBe(null);
  });
});

describe.each(MATRIX)('$client, $kind.name: on a connection that went silent', ({ client, kind }) => {
  test('an acquire is asked again over a new one', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: 60_000 });
    await warmUp(locks, kind);
    const name = bench.name();
    const made = proxy.connectionsMade;
    proxy.mute();
    const lease = await kind.of(locks, name).tryAcquire();
    expect(proxy.connectionsMade).toBeGreaterThan(made);
    expect(lease?.isHeld).toBe(true);
    expect(await held(redis.port, kind, name)).toMatchObject({ count: 1 });
    expect(await lease?.release()).toBe(true);
  });

  test('a release is carried out over a new one, long before the lease is over', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: 60_000 });
    const name = bench.name();
    const lease = await kind.of(locks, name).acquire();
    proxy.mute();
    await expect(lease.release()).rejects.toMatchObject({ code: 'ELOCKUNKNOWN' });
    await untilFree(redis.port, kind, name);
  });
});

test('a server that is frozen and goes on finds its connections where they were, and one more at most', async () => {
  const proxy = await bench.proxy(redis.port);
  const locks = await bench.session(proxy.port, { leaseMs: 60_000, callTimeoutMs: 20_000 });
  await warmUp(locks, LOCK);
  const made = proxy.connectionsMade;
  redis.freeze();
  const inspecting = locks.inspect('nobody');
  // Doubted by now, and not given up: that comes after five seconds.
  await waitFor(() => proxy.connectionsMade > made, { what: 'a second connection' });
  redis.resume();
  expect(await inspecting).toBe(null);
  expect(proxy.connectionsMade).toBe(made + 1);
});
