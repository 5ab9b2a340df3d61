/** A holder that is killed cannot release: whoever waits gets the lock when the lease is over, and not before. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { type Inspection, type Lease, type Lock, Locks, type Mutex } from '../../src/index.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { startChild, useChildren } from '../support/processes/child.ts';
import { ask } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import type { ClientKind } from './children/store.ts';
import type { TakerLine, TakerTask } from './children/taker.ts';
import { CALL_TIMEOUT_MS, START_LIMIT_MS } from './limits.ts';

/** Long enough that the dead holder still has most of it when it is looked at. */
const LEASE_MS = 6_000;
/** How much later than the end of the lease a waiter may get in: its timer, two round trips, a busy machine. */
const LATE_MS_MAX = 15_000;
/** The server counts in whole milliseconds, at both ends. */
const ROUNDING_MS = 2;
const ASK_EVERY_MS = 20;

const redis = useRedis();
useLeakCheck(redis);
useChildren();

const remainingMs = async (name: string): Promise<number> => Number(await ask(redis.port, ['PTTL', name]));

async function startTaker(guard: TakerTask['guard'], client: ClientKind, name: string) {
  const task: TakerTask = { port: redis.port, client, guard, name, leaseMs: LEASE_MS };
  const child = startChild<TakerLine>('test/process/children/taker.ts', [JSON.stringify(task)]);
  const { fence = 0 } = await child.next((line) => line.fence !== undefined, START_LIMIT_MS);
  return { child, fence };
}

/** Until it has been renewed: what remains has grown. */
async function renewed(name: string): Promise<void> {
  let leastMs = LEASE_MS;
  await waitFor(
    async () => {
      const leftMs = await remainingMs(name);
      const isRenewed = leftMs > leastMs;
      leastMs = Math.min(leastMs, leftMs);
      return isRenewed;
    },
    { what: `a renewal of ${name}` },
  );
}

type Proof = Lease & { readonly fence?: number };

const exclusive = (locks: Locks, guard: TakerTask['guard'], name: string): Lock | Mutex =>
  guard === 'lock' ? locks.lock(name) : locks.mutex(name);

async function timed<Granted>(acquiring: Promise<Granted>): Promise<{ lease: Granted; grantedMs: number }> {
  const lease = await acquiring;
  return { lease, grantedMs: performance.now() };
}

const isAwaited = (found: Inspection | null): boolean =>
  found !== null && found.kind !== 'other' && found.waiters > 0;

describe('a holder that is killed in its section', { timeout: 2 * START_LIMIT_MS }, () => {
  const rows: readonly (readonly [TakerTask['guard'], ClientKind])[] = [
    ['lock', 'ioredis'],
    ['mutex', 'redis'],
  ];
  test.each(rows)('keeps its %s until its lease is over, and no longer (%s)', async (guard, client) => {
    const name = `killed:${guard}`;
    const holder = await startTaker(guard, client, name);
    await renewed(name);
    const ownClient = new Redis(redis.port, { lazyConnect: true });
    await using locks = new Locks(ownClient, { callTimeoutMs: CALL_TIMEOUT_MS });
    await using others = new Locks(ownClient, { callTimeoutMs: CALL_TIMEOUT_MS });
    const waiting = timed<Proof>(exclusive(locks, guard, name).acquire());
    // A test that fails before it looks has a better reason than this one.
    waiting.catch(() => {});
    await waitFor(async () => isAwaited(await locks.inspect(name)), { what: 'the waiter to listen' });

    await holder.child.kill('SIGKILL');
    // Nothing renews it any more, so this is what is left for good.
    const askedMs = performance.now();
    const leftMs = await remainingMs(name);
    const answeredMs = performance.now();
    expect(leftMs).toBeGreaterThan(0);
    // Not even who asks all the time gets in before.
    for (let nowMs = askedMs; nowMs < askedMs + leftMs; nowMs = performance.now()) {
      const tried = await timed(exclusive(others, guard, name).tryAcquire());
      if (tried.lease !== null)
        expect(tried.grantedMs).toBeGreaterThanOrEqual(askedMs + leftMs - ROUNDING_MS);
      await tried.lease?.release();
      await sleep(ASK_EVERY_MS);
    }
    const { lease, grantedMs } = await waiting;

    expect(grantedMs).toBeGreaterThanOrEqual(askedMs + leftMs - ROUNDING_MS);
    expect(grantedMs).toBeLessThan(answeredMs + leftMs + LATE_MS_MAX);
    if (guard === 'lock') expect(lease.fence).toBeGreaterThan(holder.fence);
    expect(await lease.release()).toBe(true);
  });
});
