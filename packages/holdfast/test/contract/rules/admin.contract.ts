/** Looking at locks from outside, and taking one away. */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { describe, expect } from 'vitest';
import {
  type Inspection,
  type ListOptions,
  LockConfigError,
  LockConflictError,
  LockNotHeldError,
  type Locks,
} from '../../../src/index.ts';
import { KINDS, type Kind, LOCK, MUTEX } from '../../support/locks/kind.ts';
import type { ContractTest } from '../harness.ts';
import { aborted, contentOf, failureOf } from '../observe.ts';

const LONG_MS = 30_000;
const PROMPT_MS = 3_000;

interface Datum {
  readonly found: string;
  readonly plant: (redis: Redis, key: string) => Promise<unknown>;
}

/** What stands under a name and is no lock. */
const DATA: Readonly<Record<string, Datum>> = {
  text: { found: 'string', plant: (redis, key) => redis.set(key, 'hello') },
  list: { found: 'list', plant: (redis, key) => redis.rpush(key, 'x') },
  hash: { found: 'hash', plant: (redis, key) => redis.hset(key, 'city', 'Turku') },
  number: { found: 'hash', plant: (redis, key) => redis.hset(key, 'visits', '7') },
  several: { found: 'hash', plant: (redis, key) => redis.hset(key, { one: '1', two: '2' }) },
};

async function listed(locks: Locks, prefix: string, options: ListOptions = {}): Promise<Inspection[]> {
  const found: Inspection[] = [];
  for await (const inspection of locks.list({ prefix, ...options })) found.push(inspection);
  return found;
}

const namesOf = (found: readonly Inspection[]): string[] => found.map(({ name }) => name).sort();

export function adminContract(test: ContractTest): void {
  describe('inspecting', () => {
    test('a free name is nothing', async ({ bench }) => {
      const locks = await bench.locks();
      const name = bench.name();
      expect(await locks.inspect(name)).toBeNull();
      await locks.lock(name).using(() => {});
      expect(await locks.inspect(name)).toBeNull();
    });

    test('a lock is told with its owner, count, time, fence and waiters', async ({ bench }) => {
      const [locks, other, third] = await Promise.all([bench.locks(), bench.locks(), bench.locks()]);
      const name = bench.name();
      const lease = await locks.lock(name).acquire({ leaseMs: LONG_MS });
      await locks.lock(name).acquire({ within: lease });
      const owner = await LOCK.owner(bench.redis, bench.key(name));
      const found = await other.inspect(name);
      expect(found).toMatchObject({ name, kind: 'lock', owner, holdCount: 2, waiters: 0 });
      if (found?.kind !== 'lock') throw new Error('not a lock');
      expect(found.ttlMs).toBeLessThanOrEqual(LONG_MS);
      expect(found.ttlMs).toBeGreaterThan(LONG_MS / 2);
      expect(found.fence).toBeGreaterThanOrEqual(lease.fence);
      // Two callers of one session wait over one connection.
      const waits = [other, other, third].map((session) =>
        failureOf(session.lock(name).acquire({ waitMs: LONG_MS })),
      );
      await bench.untilWaiting(LOCK, name, 2);
      expect(await locks.inspect(name)).toMatchObject({ waiters: 2 });
      await Promise.all([other.close(), third.close(), ...waits]);
      await bench.untilWaiting(LOCK, name, 0);
      expect(await locks.inspect(name)).toMatchObject({ waiters: 0 });
    });

    test('a mutex is told with a digest of its owner, time and waiters', async ({ bench }) => {
      const [locks, other] = await Promise.all([bench.locks(), bench.locks()]);
      const name = bench.name();
      await locks.mutex(name).acquire({ leaseMs: LONG_MS });
      const waiting = failureOf(other.mutex(name).acquire({ waitMs: LONG_MS }));
      await bench.untilWaiting(MUTEX, name);
      const owner = MUTEX.shown(await MUTEX.owner(bench.redis, bench.key(name)));
      const found = await locks.inspect(name);
      expect(found).toMatchObject({ name, kind: 'mutex', owner, waiters: 1 });
      expect(found?.ttlMs).toBeGreaterThan(LONG_MS / 2);
      await Promise.all([other.close(), waiting]);
    });

    test('a lock of Redisson is told as any other', async ({ bench }) => {
      const locks = await bench.locks();
      const name = bench.name();
      const owner = await LOCK.seize(bench.redis, bench.foreignKey(name), LONG_MS);
      expect(await locks.inspect(name)).toMatchObject({
        kind: 'lock',
        owner,
        holdCount: 1,
        fence: undefined,
      });
    });

    test('what is no lock is told by its type', async ({ bench }) => {
      const locks = await bench.locks();
      for (const [label, { found, plant }] of Object.entries(DATA)) {
        const name = bench.name(label);
        await plant(bench.redis, bench.foreignKey(name));
        expect(await locks.inspect(name)).toEqual({ name, kind: 'other', found, ttlMs: -1 });
      }
    });
  });

  describe('listing', () => {
    test('only what is held and begins so is listed, under the names that callers use', async ({ bench }) => {
      const [locks, other] = await Promise.all([bench.locks(), bench.locks()]);
      const held = [bench.name('a:1'), bench.name('a:2'), bench.name('a:3')];
      const [lockName, mutexName, javaName] = held as [string, string, string];
      await locks.lock(lockName).acquire();
      await other.mutex(mutexName).acquire();
      await LOCK.seize(bench.redis, bench.foreignKey(javaName), LONG_MS);
      await locks.lock(bench.name('b:1')).acquire();
      await locks.lock(bench.name('a:free')).using(() => {});
      for (const [label, { plant }] of Object.entries(DATA)) {
        await plant(bench.redis, bench.foreignKey(bench.name(`a:${label}`)));
      }
      await bench.redis.set(bench.foreignKey(bench.name('a:cached')), 'hello', 'PX', LONG_MS);
      const found = await listed(locks, bench.name('a:'));
      expect(namesOf(found)).toEqual(held);
      expect(found.find(({ name }) => name === mutexName)?.kind).toBe('mutex');
      expect(found.find(({ name }) => name === lockName)).toMatchObject({ kind: 'lock', holdCount: 1 });
      expect(await listed(locks, bench.name('c:'))).toEqual([]);
      expect(namesOf(await listed(locks, ''))).toEqual(expect.arrayContaining([...held, bench.name('b:1')]));
    });

    test('what may be a mutex of another library, or a cached value, is listed when all is asked for', async ({
      bench,
    }) => {
      const locks = await bench.locks();
      const [ours, theirs, cached] = [bench.name('m:1'), bench.name('m:2'), bench.name('m:3')];
      await locks.mutex(ours).acquire();
      await MUTEX.seize(bench.redis, bench.foreignKey(theirs), LONG_MS);
      await bench.redis.set(bench.foreignKey(cached), randomUUID(), 'PX', LONG_MS);
      await bench.redis.set(bench.foreignKey(bench.name('m:4')), 'hello', 'PX', LONG_MS);
      expect(namesOf(await listed(locks, bench.name('m:')))).toEqual([ours]);
      expect(namesOf(await listed(locks, bench.name('m:'), { all: true }))).toEqual([ours, theirs, cached]);
      const wrong = listed(locks, '', { all: 'yes' } as unknown as ListOptions);
      expect(await failureOf(wrong)).toBeInstanceOf(LockConfigError);
    });

    test('glob characters in a prefix mean themselves', async ({ bench }) => {
      const locks = await bench.locks();
      const labels = ['*', '?', '[a]', '[^a]', '[a-c]', '\\', '\\*', '-', '^', 'a', 'b', 'ab'];
      const names = labels.map((label) => bench.name(`g${label}`));
      for (const name of names) await locks.mutex(name).acquire();
      for (const name of names) {
        const matching = names.filter((one) => one.startsWith(name)).sort();
        expect(namesOf(await listed(locks, name))).toEqual(matching);
      }
    });

    test('many locks are each listed once', async ({ bench }) => {
      const locks = await bench.locks();
      const names = Array.from({ length: 300 }, (_, index) => bench.name(`many:${index}`));
      const leases = await Promise.all(names.map((name) => locks.lock(name).acquire()));
      expect(namesOf(await listed(locks, bench.name('many:')))).toEqual(names.sort());
      for (const lease of leases) expect(await lease.release()).toBe(true);
    });
  });

  for (const kind of KINDS) forceContract(test, kind);
}

function forceContract(test: ContractTest, kind: Kind): void {
  describe(`releasing a ${kind.name} by force`, () => {
    test('an owner of this session is told before the call returns', async ({ bench }) => {
      const locks = await bench.locks();
      const name = bench.name();
      const lease = await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
      const { signal } = lease;
      const owner = kind.shown(await kind.owner(bench.redis, bench.key(name)));
      expect(await locks.forceRelease(name)).toBe(owner);
      expect(signal.reason).toMatchObject({ code: 'ELOCKLOST', lock: name, reason: 'revoked' });
      expect(lease.isHeld).toBe(false);
      expect(await lease.release()).toBe(false);
      expect(await bench.redis.exists(bench.key(name))).toBe(0);
      expect(await locks.forceRelease(name)).toBeNull();
    });

    test('an owner of another session is told by its next renewal, and waiters are woken', async ({
      bench,
    }) => {
      const [locks, admin, third] = await Promise.all([bench.locks(), bench.locks(), bench.locks()]);
      const name = bench.name();
      const lease = await kind.of(locks, name).acquire({ leaseMs: 2_400 });
      const reason = aborted(lease.signal);
      const waiting = kind.of(third, name).acquire({ leaseMs: LONG_MS });
      await bench.untilWaiting(kind, name);
      const forcedMs = performance.now();
      expect(await admin.forceRelease(name)).not.toBeNull();
      expect((await waiting).isHeld).toBe(true);
      expect(performance.now() - forcedMs).toBeLessThan(PROMPT_MS);
      expect(await reason).toMatchObject({ code: 'ELOCKLOST', reason: 'gone' });
      expect((await waiting).isHeld).toBe(true);
    });

    test('an owner that is named loses it, and an owner after it does not', async ({ bench }) => {
      const [locks, next, admin] = await Promise.all([bench.locks(), bench.locks(), bench.locks()]);
      const name = bench.name();
      const lease = await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
      const shown = await admin.inspect(name);
      if (shown === null || shown.kind === 'other') throw new Error('nobody holds it');
      const { owner } = shown;
      await lease.release();
      // Nobody has it: nobody loses it.
      expect(await admin.forceRelease(name, { owner })).toBeNull();
      const after = await kind.of(next, name).acquire({ leaseMs: LONG_MS });
      const holder = kind.shown(await kind.owner(bench.redis, bench.key(name)));
      const error = await failureOf(admin.forceRelease(name, { owner }));
      expect(error).toBeInstanceOf(LockNotHeldError);
      expect(error).toMatchObject({ code: 'ELOCKNOTHELD', lock: name, holder: { owner: holder } });
      expect(after.isHeld).toBe(true);
      expect(kind.shown(await kind.owner(bench.redis, bench.key(name)))).toBe(holder);
      expect(await admin.forceRelease(name, { owner: holder })).toBe(holder);
      expect(await after.release()).toBe(false);
      for (const wrong of ['', 7]) {
        const refused = admin.forceRelease(name, { owner: wrong as string });
        expect(await failureOf(refused)).toBeInstanceOf(LockConfigError);
      }
    });

    test('callers behind the owner in its own session go on', async ({ bench }) => {
      const locks = await bench.locks();
      const name = bench.name();
      await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
      const waiting = kind.of(locks, name).acquire();
      const forcedMs = performance.now();
      await locks.forceRelease(name);
      expect((await waiting).isHeld).toBe(true);
      expect(performance.now() - forcedMs).toBeLessThan(PROMPT_MS);
    });

    test('what another library holds is released, and told', async ({ bench }) => {
      const locks = await bench.locks();
      const name = bench.name();
      const key = bench.foreignKey(name);
      const ear = await bench.hear(kind.channel(key));
      const owner = await kind.seize(bench.redis, key, LONG_MS);
      expect(await locks.forceRelease(name)).toBe(kind.shown(owner));
      expect(await ear.heard()).toEqual(['0']);
      expect(await bench.redis.exists(key)).toBe(0);
    });

    if (kind === LOCK) dataIsSafe(test);
  });
}

function dataIsSafe(test: ContractTest): void {
  test('data under the name is left alone', async ({ bench }) => {
    const locks = await bench.locks();
    const { redis } = bench;
    for (const [label, { plant }] of Object.entries(DATA)) {
      const name = bench.name(label);
      const key = bench.foreignKey(name);
      await plant(redis, key);
      const before = await contentOf(redis, key);
      const error = await failureOf(locks.forceRelease(name));
      expect(error).toBeInstanceOf(LockConflictError);
      expect(error).toMatchObject({ code: 'ELOCKCONFLICT', lock: name });
      expect(await contentOf(redis, key)).toEqual(before);
    }
  });
}
