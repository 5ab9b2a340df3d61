/** Another server becomes the primary while leases are held, waited for and renewed. */

import { afterEach, describe, expect, test } from 'vitest';
import { type FencedLease, type Locks, LockUnavailableError } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held } from '../../support/locks/held.ts';
import { LOCK } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { rejection } from '../../support/rejection.ts';
import { ourConnections } from '../../support/servers/our-connections.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { roleOf } from '../../support/servers/replicated-servers.ts';
import { useSentinels } from '../../support/servers/sentinel-group.ts';
import { steady } from '../../support/steady.ts';
import { always } from '../../support/violation.ts';
import { waitFor } from '../../support/wait-for.ts';
import { outlivesSilence } from '../silent-connection.ts';
import { SENTINEL_CLIENTS, sentinelSession } from './support.ts';

const group = useSentinels();
useLeakCheck();
const bench = useBench();
const STEADY = steady();

/** Longer than a failover takes here, so that who follows it in time keeps the lock. */
const LEASE_MS = 20_000;
const PATIENT = { leaseMs: LEASE_MS, outageMs: 60_000 };

/** Whoever waits is served this soon at the new primary, also if the line of waiters did not get there. */
const SERVED_MS_MAX = 5_000;

/** The sentinels' servers may have locks of the test before, which ends with its sessions. */
afterEach(async () => {
  const primary = await group.primary().catch(() => null);
  if (primary?.isRunning && !primary.isFrozen) await ask(primary.port, ['FLUSHALL']);
});

/** Whoever waits beside others, before them or behind them: has the lock and lets go of it. */
async function served(waiting: Promise<FencedLease>): Promise<boolean> {
  return (await waiting).release();
}

describe.each(SENTINEL_CLIENTS)('by %s', { ...STEADY, timeout: 240_000 }, (kind) => {
  test('a lock is taken on the primary, waited for, handed over and released', async () => {
    const [first, second] = [1, 2].map(() => sentinelSession(bench, group, kind)) as [Locks, Locks];
    const name = bench.name();
    for (const locks of [first, second]) await warmUp(locks, LOCK);
    const lease = await first.lock(name).acquire();
    expect(await held((await group.primary()).port, LOCK, name)).not.toBeNull();
    expect(await second.lock(name).tryAcquire()).toBeNull();
    const waiting = second.lock(name).acquire();
    expect(await lease.release()).toBe(true);
    const next = await waiting;
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
  });

  test('a lease of a second or three outlives a connection to its primary that goes silent', async () => {
    const { port } = await group.primary();
    const proxy = await bench.proxy(port);
    const natMap = { [`127.0.0.1:${port}`]: { host: '127.0.0.1', port: proxy.port } };
    const locks = sentinelSession(bench, group, kind, {}, natMap);
    await warmUp(locks, LOCK);
    for (const leaseMs of [1_000, 3_000]) {
      const name = bench.name();
      const acquire = () => locks.lock(name).acquire({ leaseMs });
      await outlivesSilence({ acquire, proxies: [proxy], renews: LOCK.renews });
    }
  });

  test('a planned failover costs no lease, and those who wait are served by the new primary', async () => {
    const sessions = [1, 2, 3].map(() => sentinelSession(bench, group, kind, PATIENT));
    const [first, second, third] = sessions as [Locks, Locks, Locks];
    const name = bench.name();
    for (const locks of sessions) await warmUp(locks, LOCK);
    const lease = await first.lock(name).acquire();
    const waiting = second.lock(name).acquire();
    const other = served(third.lock(name).acquire());
    const before = await group.primary();
    const after = await group.failOver();
    // The old primary does not know it yet: whoever stays with it holds what others can take elsewhere.
    expect(await roleOf(before)).toBe('master');
    await waitFor(async () => (await ourConnections(after.port)).length > 0);
    await waitFor(async () => (await ourConnections(before.port)).length === 0);
    // Renewed there, and not only replicated: more is left than a lease that was not renewed since has.
    await waitFor(async () => (await ttl(after.port, name)) > LEASE_MS * 0.9, { limitMs: LEASE_MS });
    expect(lease.isHeld).toBe(true);
    const next = await servedAfterRelease(lease, waiting);
    expect(next.fence).toBeGreaterThan(lease.fence);
    expect(await held(after.port, LOCK, name)).not.toBeNull();
    await next.release();
    expect(await other).toBe(true);
  });

  test('a primary that is killed costs no lease that a replica has, and those who wait are served although their line was lost', async () => {
    // Its first renewal is due when all of this is over.
    const leaseMs = 40_000;
    const options = { ...PATIENT, leaseMs, replicas: { min: 2 } };
    const sessions = [1, 2, 3].map(() => sentinelSession(bench, group, kind, options));
    const [first, second, third] = sessions as [Locks, Locks, Locks];
    const name = bench.name();
    for (const locks of sessions) await warmUp(locks, LOCK);
    const lease = await first.lock(name).acquire();
    const waiting = second.lock(name).acquire();
    const other = served(third.lock(name).acquire());
    const before = await group.primary();
    await before.kill();
    const after = await group.untilAnother(before);
    expect(await held(after.port, LOCK, name)).not.toBeNull();
    // Two replicas are asked for, and there is one until the killed one is back.
    await group.restore();
    await waitFor(async () => (await ttl(after.port, name)) > leaseMs * 0.8, { limitMs: leaseMs });
    expect(lease.isHeld).toBe(true);
    // As if it had not been replicated.
    await ask(after.port, ['DEL', `holdfast_line:{${name}}`]);
    const next = await servedAfterRelease(lease, waiting);
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
    expect(await other).toBe(true);
  });

  test('a primary that freezes is left for the one that takes over, and its owner is told in time', async () => {
    const first = sentinelSession(bench, group, kind, { leaseMs: 2_500, outageMs: 60_000 });
    const second = sentinelSession(bench, group, kind, { leaseMs: LEASE_MS, outageMs: 60_000 });
    const name = bench.name();
    for (const locks of [first, second]) await warmUp(locks, LOCK);
    const before = await group.primary();
    const lease = await first.lock(name).acquire();
    let toldMs = 0;
    lease.signal.addEventListener('abort', () => {
      toldMs = performance.now();
    });
    before.freeze();
    const next = await second.lock(name).acquire();
    const servedMs = performance.now();
    always(() => {
      expect(lease.isHeld).toBe(false);
      expect(toldMs).toBeGreaterThan(0);
      expect(toldMs).toBeLessThan(servedMs);
      expect(next.fence).toBeGreaterThan(lease.fence);
    });
    // Not what this is about, and on a machine that stalls the next failover may be under way.
    await next.release().catch(() => {});
  });

  test('while no sentinel answers, what is connected goes on, and who is not hears which ones were asked', async () => {
    const locks = sentinelSession(bench, group, kind);
    await warmUp(locks, LOCK);
    await Promise.all(group.sentinels.map((sentinel) => sentinel.kill()));
    const lease = await locks.lock(bench.name()).acquire();
    expect(await lease.release()).toBe(true);
    const stranger = sentinelSession(bench, group, kind);
    const error = await rejection(stranger.lock(bench.name()).tryAcquire());
    expect(error).toBeInstanceOf(LockUnavailableError);
    for (const { port } of group.sentinels) expect(String(error)).toContain(`127.0.0.1:${port}`);
    for (const sentinel of group.sentinels) await sentinel.ensureUp();
  });
});

async function servedAfterRelease(lease: FencedLease, waiting: Promise<FencedLease>): Promise<FencedLease> {
  const releasedMs = performance.now();
  expect(await lease.release()).toBe(true);
  const next = await waiting;
  expect(performance.now() - releasedMs).toBeLessThan(SERVED_MS_MAX);
  return next;
}

async function ttl(port: number, key: string): Promise<number> {
  return Number(await ask(port, ['PTTL', key]));
}
