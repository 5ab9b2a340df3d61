/** What a lock is worth that was handed over in the line, on a real server: who confirms first, who loses it, who forges it. */
import { describe, expect, test } from 'vitest';
import type { AcquireOptions, Lease, Locks, LocksOptions } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { untilWaiting } from '../../support/locks/held.ts';
import { LOCK } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { always } from '../../support/violation.ts';
import { waitFor } from '../../support/wait-for.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const LEASE_MS = 60_000;
/** Longer than an ask is old when its grant comes, on a machine that is busy. */
const CLAIM_MS = 5_000;

async function session(options: LocksOptions = {}): Promise<Locks> {
  const locks = await bench.session(redis.port, { leaseMs: LEASE_MS, ...options });
  await warmUp(locks, LOCK);
  return locks;
}

/** The lease that a waiter gets when its owner releases. */
async function handedOver(owner: Locks, waiter: Locks, options: AcquireOptions = {}): Promise<Lease> {
  const name = bench.name();
  const lease = await owner.lock(name).acquire();
  const waiting = waiter.lock(name).acquire(options);
  await untilWaiting(redis.port, name, 1);
  expect(await lease.release()).toBe(true);
  return waiting;
}

describe('a lock that was handed over', () => {
  test.each<{ what: string; options: LocksOptions; acquire: AcquireOptions }>([
    { what: 'claimMs 0', options: { claimMs: 0 }, acquire: {} },
    { what: 'a fixed lease', options: { claimMs: CLAIM_MS }, acquire: { renew: false } },
  ])(
    'is confirmed with its full lease before its owner is served, with $what',
    async ({ options, acquire }) => {
      const [owner, waiter] = [await session(), await session(options)];
      const lease = await handedOver(owner, waiter, acquire);
      expect(lease.remainingMs).toBeGreaterThan(LEASE_MS / 2);
      expect(await lease.release()).toBe(true);
    },
  );

  test('is lost by a body that blocks for longer than the claim, and its owner knows in its next statement', async () => {
    const claimMs = 300;
    const [owner, waiter] = [await session(), await session({ claimMs })];
    // An ask that is under way at the release brings the whole lease: then once more.
    await waitFor(
      async () => {
        const lease = await handedOver(owner, waiter);
        const isClaim = lease.remainingMs <= claimMs;
        const untilMs = performance.now() + 2 * claimMs;
        while (isClaim && performance.now() < untilMs);
        if (isClaim) always(() => expect(lease.isHeld).toBe(false));
        await lease.release();
        return isClaim;
      },
      { what: 'a lock that comes with its claim only', limitMs: 60_000 },
    );
  });

  test('cannot be forged by who publishes to the channel of a session without knowing its random digits', async () => {
    const [owner, waiter] = [await session(), await session()];
    const name = bench.name();
    const lease = await owner.lock(name).acquire();
    let isServed = false;
    const waiting = waiter
      .lock(name)
      .acquire()
      .finally(() => {
        isServed = true;
      });
    await untilWaiting(redis.port, name, 1);
    const channel = `holdfast_session:${waiter.session}`;
    for (let wait = 0; wait < 10; wait += 1)
      for (let number = 1; number < 4; number += 1)
        expect(await ask(redis.port, ['PUBLISH', channel, `g ${wait}.${number}.0000000000000000 1 1`])).toBe(
          1,
        );
    // Sent behind whatever the messages made the session ask, and answered behind it.
    await waiter.inspect(name);
    always(() => expect([isServed, lease.isHeld]).toEqual([false, true]));
    expect(await lease.release()).toBe(true);
    expect(await (await waiting).release()).toBe(true);
  });
});
