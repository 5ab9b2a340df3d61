/** Our mutex beside the one of the Redis documentation and of node-redlock, on one key. */

import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LockLostError, Locks } from '../../../src/index.ts';
import { aborted } from '../../support/aborted.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { untilListening } from '../../support/locks/held.ts';
import { MUTEX } from '../../support/locks/kind.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { timed } from '../../support/timed.ts';
import { waitFor } from '../../support/wait-for.ts';
import { CALL_TIMEOUT_MS } from '../limits.ts';
import { ForeignMutex } from './foreign-mutex.ts';

const NAME = 'resource';
const LONG_MS = 30_000;
/** Long enough to be extended in time on a busy machine, when most of it is still left. */
const SHORT_MS = 6_000;
const EXTENDED_AT_MS = 5_500;
/** Past the end of a lease: a timer, a round trip, a busy machine. */
const LATE_MS_MAX = 15_000;
/** The server counts in whole milliseconds, at both ends. */
const ROUNDING_MS = 2;

const redis = useRedis();
useLeakCheck(redis, { ignoreKeys: [/^count$/] });
let client: Redis;
let locks: Locks;
let theirs: ForeignMutex;
beforeEach(async () => {
  client = new Redis(redis.port);
  locks = new Locks(client, { callTimeoutMs: CALL_TIMEOUT_MS });
  theirs = new ForeignMutex(client, NAME);
  // Connected before a lease runs: on a busy machine the first time takes long.
  await Promise.all([client.ping(), locks.inspect(NAME)]);
});
afterEach(async () => {
  await locks.close();
  client.disconnect();
});

describe('a mutex that somebody else has set', () => {
  test('keeps us out until its owner deletes it', async () => {
    expect(await theirs.tryLock(SHORT_MS)).toBe(true);
    expect(await locks.mutex(NAME).tryAcquire()).toBeNull();
    const waiting = locks.mutex(NAME).acquire();
    await untilListening(redis.port, MUTEX, NAME, { count: 1 });
    // Nobody tells us: we come back when its lease would have been over at the latest.
    expect(await theirs.unlock()).toBe(true);
    const lease = await waiting;
    expect(await theirs.tryLock(SHORT_MS)).toBe(false);
    expect(await lease.release()).toBe(true);
  });

  test('keeps us out until it has run out, however often it is extended', async () => {
    expect(await theirs.tryLock(SHORT_MS)).toBe(true);
    const waiting = timed(locks.mutex(NAME).acquire());
    await untilListening(redis.port, MUTEX, NAME, { count: 1 });
    let extendedMs = 0;
    for (let times = 0; times < 3; times += 1) {
      await waitFor(async () => (await client.pttl(NAME)) < EXTENDED_AT_MS);
      extendedMs = performance.now();
      expect(await theirs.extend(SHORT_MS)).toBe(true);
    }
    const { value: lease, atMs: grantedMs } = await waiting;
    expect(grantedMs).toBeGreaterThanOrEqual(extendedMs + SHORT_MS - ROUNDING_MS);
    expect(grantedMs).toBeLessThan(extendedMs + SHORT_MS + LATE_MS_MAX);
    expect(await theirs.unlock()).toBe(false);
    expect(await lease.release()).toBe(true);
  });
});

describe('a mutex that we hold', () => {
  test('keeps everybody else out until it is released', async () => {
    const lease = await locks.mutex(NAME).acquire();
    expect(await theirs.tryLock(LONG_MS)).toBe(false);
    expect(await theirs.unlock()).toBe(false);
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe(true);
    expect(await theirs.tryLock(LONG_MS)).toBe(true);
    expect(await theirs.unlock()).toBe(true);
  });

  test('keeps everybody else out while it is renewed', async () => {
    const lease = await locks.mutex(NAME).acquire({ leaseMs: 6_000 });
    const acquiredMs = performance.now();
    await waitFor(
      async () => {
        expect(await theirs.tryLock(LONG_MS)).toBe(false);
        return performance.now() - acquiredMs > 7_000;
      },
      { what: 'the first lease to be over', limitMs: 60_000 },
    );
    expect(await lease.release()).toBe(true);
  });

  test('is lost to us when its key is deleted and set by somebody else, whose key stays', async () => {
    const lease = await locks.mutex(NAME).acquire({ leaseMs: 9_000 });
    await client.del(NAME);
    expect(await theirs.tryLock(LONG_MS)).toBe(true);
    const reason = await aborted(lease.signal);
    expect(reason).toBeInstanceOf(LockLostError);
    expect(reason).toMatchObject({ reason: 'gone' });
    expect(await lease.release()).toBe(false);
    expect(await client.get(NAME)).toBe(theirs.token);
    expect(await theirs.unlock()).toBe(true);
  });
});

describe('a counter that both kinds of process raise', { timeout: 600_000 }, () => {
  const EACH = 10;
  /** Our waiters hear nothing of a foreign release and sleep through its lease: the shorter it is, the better. */
  const FOREIGN_LEASE_MS = 2_000;
  const TRIES_MAX = 10;
  /** Nothing keeps a foreigner from writing when the machine has stood still for all of its lease. */
  let isOverrun = false;

  async function raise(): Promise<void> {
    const seen = Number(await client.get('count'));
    await client.set('count', seen + 1);
  }

  async function foreigner(): Promise<void> {
    const mutex = new ForeignMutex(client, NAME);
    for (let i = 0; i < EACH; i += 1) {
      const lockedMs = await mutex.lock(FOREIGN_LEASE_MS);
      await raise();
      isOverrun ||= performance.now() - lockedMs >= FOREIGN_LEASE_MS;
      await mutex.unlock();
    }
  }

  async function ownCaller(session: Locks): Promise<void> {
    for (let i = 0; i < EACH; i += 1) await session.mutex(NAME).using(raise);
  }

  test('is exact', async () => {
    await using others = new Locks(client, { callTimeoutMs: CALL_TIMEOUT_MS });
    for (let tries = 1; tries === 1 || (isOverrun && tries <= TRIES_MAX); tries += 1) {
      isOverrun = false;
      await client.set('count', 0);
      const own = [locks, locks, locks, others, others, others].map(ownCaller);
      const foreign = [1, 2, 3].map(foreigner);
      await Promise.all([...own, ...foreign]);
    }
    expect(Number(await client.get('count'))).toBe(9 * EACH);
  });
});
