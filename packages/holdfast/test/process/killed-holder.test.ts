/** A holder that is killed cannot release: whoever waits gets the lock when the lease is over, and not before. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { Locks } from '../../src/index.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { expectGrowing, fenceOf } from '../support/locks/fences.ts';
import { untilListening } from '../support/locks/held.ts';
import { type Kind, LOCK, MUTEX } from '../support/locks/kind.ts';
import { startChild, useChildren } from '../support/processes/child.ts';
import { handled } from '../support/rejection.ts';
import { ask } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { timed } from '../support/timed.ts';
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

describe('a holder that is killed in its section', { timeout: 2 * START_LIMIT_MS }, () => {
  const rows: readonly { readonly kind: Kind; readonly client: ClientKind }[] = [
    { kind: LOCK, client: 'ioredis' },
    { kind: MUTEX, client: 'redis' },
  ];
  test.each(rows)('keeps its $kind.name until its lease is over, and no longer ($client)', async (row) => {
    const { kind, client } = row;
    const name = `killed:${kind.name}`;
    const holder = await startTaker(kind.name, client, name);
    await renewed(name);
    const ownClient = new Redis(redis.port, { lazyConnect: true });
    await using locks = new Locks(ownClient, { callTimeoutMs: CALL_TIMEOUT_MS });
    await using others = new Locks(ownClient, { callTimeoutMs: CALL_TIMEOUT_MS });
    // A test that fails before it looks has a better reason than this one.
    const waiting = handled(timed(kind.of(locks, name).acquire()));
    await untilListening(redis.port, kind, name);

    await holder.child.kill('SIGKILL');
    // Nothing renews it any more, so this is what is left for good.
    const askedMs = performance.now();
    const leftMs = await remainingMs(name);
    const answeredMs = performance.now();
    expect(leftMs).toBeGreaterThan(0);
    // Not even who asks all the time gets in before.
    for (let nowMs = askedMs; nowMs < askedMs + leftMs; nowMs = performance.now()) {
      const { value: tried, atMs } = await timed(kind.of(others, name).tryAcquire());
      if (tried !== null) expect(atMs).toBeGreaterThanOrEqual(askedMs + leftMs - ROUNDING_MS);
      await tried?.release();
      await sleep(ASK_EVERY_MS);
    }
    const { value: lease, atMs: grantedMs } = await waiting;

    expect(grantedMs).toBeGreaterThanOrEqual(askedMs + leftMs - ROUNDING_MS);
    expect(grantedMs).toBeLessThan(answeredMs + leftMs + LATE_MS_MAX);
    if (kind === LOCK) expectGrowing([holder.fence, fenceOf(lease)]);
    expect(await lease.release()).toBe(true);
  });
});
