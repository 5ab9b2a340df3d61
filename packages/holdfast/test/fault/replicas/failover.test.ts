/**
 * A primary that dies or is parted from its replicas, which take over: what is lost without `replicas`, and that nothing
 * is with it. The first test of each pair is the control: without it the second could not fail.
 */
import { describe, expect, test } from 'vitest';
import { type Lease, LockUnavailableError } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held } from '../../support/locks/held.ts';
import { KINDS, LOCK } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { follow, promote } from '../../support/servers/replicated-servers.ts';
import { waitFor } from '../../support/wait-for.ts';
import { cutOff, has, useReplication } from './support.ts';

const replication = useReplication();
const { primary, replicas } = replication;
const [heir, other] = replicas;
useLeakCheck([], { checksHandles: true });
const bench = useBench();

const ONE = { min: 1, timeoutMs: 300 };
/** Whichever takes over has what was granted and renewed, as the one that sentinels choose. */
const BOTH = { min: 2, timeoutMs: 300 };
const LEASE_MS = 6_000;

describe('a primary that is killed before its replicas have the lock', () => {
  test('leaves two owners without replica acknowledgement, of which the second has the larger fence', async () => {
    const name = bench.name();
    const first = await bench.session(primary.port);
    await cutOff(replication);
    const lease = await first.lock(name).acquire();
    await primary.kill();
    await promote(heir);
    const second = await bench.session(heir.port);
    const next = await second.lock(name).acquire();
    expect([lease.isHeld, next.isHeld]).toEqual([true, true]);
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
  });

  test.each(KINDS)('leaves one owner with it: the first is refused ($name)', async (kind) => {
    const name = bench.name();
    const first = await bench.session(primary.port, { replicas: ONE });
    await cutOff(replication);
    expect(await rejection(kind.of(first, name).tryAcquire())).toBeInstanceOf(LockUnavailableError);
    await primary.kill();
    await promote(heir);
    const second = await bench.session(heir.port);
    const next = await kind.of(second, name).acquire();
    expect(next.isHeld).toBe(true);
    await next.release();
  });

  test('leaves the lock with its owner when a replica that has it takes over', async () => {
    const name = bench.name();
    const first = await bench.session(primary.port, { replicas: ONE, leaseMs: LEASE_MS });
    const fence = await first
      .lock(name)
      .using(async (lease) => {
        await primary.kill();
        // Sentinels choose the one that has the most.
        const heirs = await Promise.all(replicas.map((replica) => has(replica, name)));
        const [promoted] = replicas.filter((_, i) => heirs[i]);
        if (promoted === undefined) throw new Error('no replica has it');
        await promote(promoted);
        const second = await bench.session(promoted.port, { leaseMs: LEASE_MS });
        expect(await second.lock(name).tryAcquire()).toBeNull();
        const next = await second.lock(name).acquire();
        expect(lease.isHeld).toBe(false);
        expect(next.fence).toBeGreaterThan(lease.fence);
        await next.release();
        return lease.fence;
      })
      .catch((error: unknown) => error);
    // Its primary is gone, and no renewal got through.
    expect(fence).toMatchObject({ code: 'ELOCKLOST', reason: 'expired' });
  });
});

/** Resolves when the lease is lost. */
function lost(lease: Lease): Promise<void> {
  const { signal } = lease;
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

describe('a primary that is parted from its replicas and goes on', () => {
  test('keeps its owner while another one gets in elsewhere, without replica acknowledgement', async () => {
    const name = bench.name();
    const first = await bench.session(primary.port, { leaseMs: LEASE_MS });
    const lease = await first.lock(name).acquire();
    await replication.group.untilInSync(primary);
    await cutOff(replication);
    await promote(heir);
    const second = await bench.session(heir.port);
    const next = await second.lock(name).acquire();
    expect([lease.isHeld, next.isHeld]).toEqual([true, true]);
    expect(next.fence).toBeGreaterThan(lease.fence);
    await Promise.all([lease.release(), next.release()]);
  });

  test.each(KINDS)('loses its owner before another one gets in elsewhere, with it ($name)', async (kind) => {
    const name = bench.name();
    const first = await bench.session(primary.port, { leaseMs: LEASE_MS, replicas: BOTH });
    const lease = await kind.of(first, name).acquire();
    await cutOff(replication);
    await promote(heir);
    const startedMs = performance.now();
    const told = lost(lease).then(() => performance.now());
    const second = await bench.session(heir.port);
    const next = await kind.of(second, name).acquire();
    const servedMs = performance.now();
    expect(lease.isHeld).toBe(false);
    expect((await told) - startedMs).toBeLessThan(LEASE_MS + 20_000);
    expect(await told).toBeLessThanOrEqual(servedMs);
    await next.release();
  });
});

describe('a primary without replicas, after it took over', () => {
  test('grants nothing and keeps nothing, and serves as soon as one has joined', async () => {
    const name = bench.name();
    await primary.kill();
    await promote(heir);
    const locks = await bench.session(heir.port, { replicas: ONE });
    for (let i = 0; i < 3; i += 1) {
      expect(await rejection(locks.lock(name).tryAcquire())).toBeInstanceOf(LockUnavailableError);
      await waitFor(async () => (await held(heir.port, LOCK, name)) === null);
    }
    await follow(other, heir);
    await replication.group.untilInSync(heir, 1);
    const lease = await locks.lock(name).acquire();
    expect(await held(heir.port, LOCK, name)).toMatchObject({ count: 1 });
    expect(await lease.release()).toBe(true);
    expect(await ask(heir.port, ['EXISTS', name])).toBe(0);
  });
});
