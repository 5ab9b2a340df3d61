/** Our lock beside Redisson's re-entrant and fenced locks, on the same keys and channels. */

import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LockLostError, Locks } from '../../../src/index.ts';
import { aborted } from '../../support/aborted.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { expectGrowing } from '../../support/locks/fences.ts';
import { untilListening } from '../../support/locks/held.ts';
import { LOCK } from '../../support/locks/kind.ts';
import { wokenBy } from '../../support/locks/woken.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { timed } from '../../support/timed.ts';
import { waitFor } from '../../support/wait-for.ts';
import { CALL_TIMEOUT_MS } from '../limits.ts';
import { ForeignLock } from './foreign-lock.ts';

const NAME = 'resource';
const LONG_MS = 30_000;
/** Long enough to be extended in time on a busy machine, when most of it is still left. */
const SHORT_MS = 6_000;
const EXTENDED_AT_MS = 5_500;
/** Without a message a waiter of theirs sleeps for the lease. */
const WAKE_MS_MAX = 15_000;
const LATE_MS_MAX = 15_000;
/** The server counts in whole milliseconds, at both ends. */
const ROUNDING_MS = 2;

/** What a fleet that shares fences with Java needs: its counter never expires. */
const FOR_JAVA = { fenceTtlMs: 0, callTimeoutMs: CALL_TIMEOUT_MS };

const redis = useRedis();
useLeakCheck(redis, { ignoreKeys: [/^redisson_lock_token:/, /^(count|log)$/] });
let client: Redis;
let locks: Locks;
let theirs: ForeignLock;
beforeEach(async () => {
  client = new Redis(redis.port);
  locks = new Locks(client, FOR_JAVA);
  theirs = new ForeignLock(client, NAME);
  // Connected before a lease runs: on a busy machine the first time takes long.
  await Promise.all([client.ping(), locks.inspect(NAME)]);
});
afterEach(async () => {
  await locks.close();
  client.disconnect();
});

describe('a lock that Redisson holds', () => {
  test('keeps us out until it is released, and the release wakes us', async () => {
    expect(await theirs.tryLock(LONG_MS)).toBeNull();
    expect(await locks.lock(NAME).tryAcquire()).toBeNull();
    expect(await locks.inspect(NAME)).toMatchObject({ kind: 'lock', owner: theirs.holder, holdCount: 1 });
    const waiting = locks.lock(NAME).acquire();
    await untilListening(redis.port, LOCK, NAME, { count: 1 });
    const lease = await wokenBy(NAME, async () => expect(await theirs.unlock()).toBe(1), waiting);
    expect(await lease.release()).toBe(true);
  });

  test('lets us in when it was left as often as it was entered', async () => {
    expect(await theirs.tryLock(LONG_MS)).toBeNull();
    expect(await theirs.tryLock(LONG_MS)).toBeNull();
    expect(await locks.inspect(NAME)).toMatchObject({ owner: theirs.holder, holdCount: 2 });
    const waiting = locks.lock(NAME).acquire();
    await untilListening(redis.port, LOCK, NAME, { count: 1 });
    expect(await theirs.unlock()).toBe(0);
    expect(await locks.lock(NAME).tryAcquire()).toBeNull();
    expect(await theirs.unlock()).toBe(1);
    expect(await (await waiting).release()).toBe(true);
  });

  test('keeps us out until its last renewal has run out, without a word', async () => {
    expect(await theirs.tryLock(SHORT_MS)).toBeNull();
    const waiting = timed(locks.lock(NAME).acquire());
    await untilListening(redis.port, LOCK, NAME, { count: 1 });
    let renewedMs = 0;
    for (let times = 0; times < 3; times += 1) {
      await waitFor(async () => (await client.pttl(NAME)) < EXTENDED_AT_MS);
      renewedMs = performance.now();
      await theirs.renew(SHORT_MS);
    }
    const { value: lease, atMs } = await waiting;
    expect(atMs).toBeGreaterThanOrEqual(renewedMs + SHORT_MS - ROUNDING_MS);
    expect(atMs).toBeLessThan(renewedMs + SHORT_MS + LATE_MS_MAX);
    expect(await theirs.unlock()).toBeNull();
    expect(await lease.release()).toBe(true);
  });
});

describe('a lock that we hold', () => {
  test('keeps Redisson out until it is released, and the release wakes it', async () => {
    const lease = await locks.lock(NAME).acquire({ leaseMs: LONG_MS });
    const leftMs = await theirs.tryLock(LONG_MS);
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(LONG_MS);
    expect(await theirs.unlock()).toBeNull();
    const waiting = timed(theirs.lock(LONG_MS));
    await untilListening(redis.port, LOCK, NAME, { count: 1 });
    const releasedMs = performance.now();
    expect(await lease.release()).toBe(true);
    const { atMs } = await waiting;
    expect(atMs - releasedMs).toBeLessThan(WAKE_MS_MAX);
    expect(await theirs.unlock()).toBe(1);
  });

  test('is lost to us when Redisson releases it by force, and goes to whoever waits, who asks every second', async () => {
    await using others = new Locks(client, FOR_JAVA);
    const lease = await locks.lock(NAME).acquire({ leaseMs: 9_000 });
    const waiting = others.lock(NAME).acquire();
    await untilListening(redis.port, LOCK, NAME, { count: 1 });
    // It is told on the public channel only, where nobody of ours listens while the owner is of ours.
    expect(await theirs.forceUnlock()).toBe(true);
    const next = await waiting;
    expect(await aborted(lease.signal)).toBeInstanceOf(LockLostError);
    expect(await lease.release()).toBe(false);
    expect(next.fence).toBeGreaterThan(lease.fence);
    expect(await next.release()).toBe(true);
  });
});

describe('fences that both sides give out', () => {
  test('grow from one owner to the next, whoever it is', async () => {
    const fences: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      // Several of ours in a row, on one reserved block of fences.
      await Promise.all([1, 2, 3].map(() => locks.lock(NAME).using(({ fence }) => fences.push(fence))));
      expect(await theirs.tryLock(LONG_MS)).toBeNull();
      fences.push(await theirs.fence());
      expect(await theirs.unlock()).toBe(1);
    }
    expect(fences).toHaveLength(12);
    expectGrowing(fences);
    expect(await client.pttl(theirs.fenceKey)).toBe(-1);
  });

  const counters = [
    ['far behind the clock, as Redisson alone leaves it', () => 41],
    ['ahead of the clock', () => (Date.now() + 3_600_000) * 1_000],
  ] as const;
  test.each(counters)('go on from a counter that is %s', async (_, lastFence) => {
    const last = lastFence();
    await client.set(theirs.fenceKey, last);
    expect(await theirs.tryLock(LONG_MS)).toBeNull();
    expect(await theirs.fence()).toBe(last + 1);
    expect(await theirs.unlock()).toBe(1);
    const lease = await locks.lock(NAME).acquire();
    expect(lease.fence).toBeGreaterThan(last + 1);
    expect(await theirs.fence()).toBeGreaterThanOrEqual(lease.fence);
    expect(await lease.release()).toBe(true);
  });
});

describe('a counter that both kinds of process raise', { timeout: 180_000 }, () => {
  const EACH = 25;

  async function raise(fence: number): Promise<void> {
    const seen = Number(await client.get('count'));
    await client
      .multi()
      .set('count', seen + 1)
      .rpush('log', fence)
      .exec();
  }

  async function foreigner(): Promise<void> {
    const lock = new ForeignLock(client, NAME);
    for (let i = 0; i < EACH; i += 1) {
      await lock.lock(LONG_MS);
      await raise(await lock.fence());
      await lock.unlock();
    }
  }

  async function ownCaller(session: Locks): Promise<void> {
    for (let i = 0; i < EACH; i += 1) await session.lock(NAME).using(({ fence }) => raise(fence));
  }

  test('is exact, and its fences grow', async () => {
    await using others = new Locks(client, FOR_JAVA);
    const own = [locks, locks, locks, others, others, others].map(ownCaller);
    const foreign = [1, 2, 3].map(foreigner);
    await Promise.all([...own, ...foreign]);
    expect(Number(await client.get('count'))).toBe(9 * EACH);
    const log = (await client.lrange('log', 0, -1)).map(Number);
    expect(log).toHaveLength(9 * EACH);
    expectGrowing(log);
  });
});
