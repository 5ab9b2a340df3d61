/** Looking at locks from outside, and taking one away. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import { describe, expect } from 'vitest';
import {
  type ListOptions,
  LockConfigError,
  LockConflictError,
  LockNotHeldError,
} from '../../../src/index.ts';
import { aborted } from '../../support/aborted.ts';
import { KINDS, type Kind, LOCK, MUTEX } from '../../support/locks/kind.ts';
import { listed, listedNames } from '../../support/locks/listed.ts';
import { rejection } from '../../support/rejection.ts';
import { always } from '../../support/violation.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { ContractTest } from '../harness.ts';

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

export function adminContract(test: ContractTest): void {
  describe('inspecting', () => {
    test('a free name is nothing', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      expect(await locks.inspect(name)).toBeNull();
      await locks.lock(name).using(() => {});
      expect(await locks.inspect(name)).toBeNull();
    });

    test('a lock is told with its owner, count, time, fence and waiters', async ({ bench }) => {
      const [locks, other, third] = await Promise.all([bench.session(), bench.session(), bench.session()]);
      const name = bench.name();
      const lease = await locks.lock(name).acquire({ leaseMs: LONG_MS });
      await locks.lock(name).acquire({ within: lease });
      const owner = await LOCK.owner(bench.send, bench.key(name));
      const found = await other.inspect(name);
      expect(found).toMatchObject({ name, kind: 'lock', owner, holdCount: 2, waiters: 0 });
      if (found?.kind !== 'lock') throw new Error('not a lock');
      expect(found.ttlMs).toBeLessThanOrEqual(LONG_MS);
      expect(found.ttlMs).toBeGreaterThan(LONG_MS / 2);
      expect(found.fence).toBeGreaterThanOrEqual(lease.fence);
      // Two callers of one session wait over one connection.
      const waits = [other, other, third].map((session) =>
        rejection(session.lock(name).acquire({ waitMs: LONG_MS })),
      );
      await bench.untilWaiting(LOCK, name, 2);
      expect(await locks.inspect(name)).toMatchObject({ waiters: 2, guests: 0 });
      await Promise.all([other.close(), third.close(), ...waits]);
      await bench.untilWaiting(LOCK, name, 0);
      expect(await locks.inspect(name)).toMatchObject({ waiters: 0 });
    });

    test('a mutex is told with a digest of its owner, time and waiters', async ({ bench }) => {
      const [locks, other] = await Promise.all([bench.session(), bench.session()]);
      const name = bench.name();
      await locks.mutex(name).acquire({ leaseMs: LONG_MS });
      const waiting = rejection(other.mutex(name).acquire({ waitMs: LONG_MS }));
      await bench.untilWaiting(MUTEX, name);
      const owner = MUTEX.shown(await MUTEX.owner(bench.send, bench.key(name)));
      const found = await locks.inspect(name);
      expect(found).toMatchObject({ name, kind: 'mutex', owner, waiters: 1 });
      if (found?.kind !== 'mutex') throw new Error('not a mutex');
      expect(found.ttlMs).toBeGreaterThan(LONG_MS / 2);
      await Promise.all([other.close(), waiting]);
    });

    test('a lock of Redisson is told as any other', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const owner = await LOCK.seize(bench.send, bench.foreignKey(name), LONG_MS);
      expect(await locks.inspect(name)).toMatchObject({
        kind: 'lock',
        owner,
        holdCount: 1,
        fence: undefined,
      });
    });

    test('who the owner is, is told from the record of its session', async ({ bench }) => {
      const [locks, other] = await Promise.all([bench.session({ application: 'billing' }), bench.session()]);
      const prefix = bench.name('records:');
      const [name, silent] = [`${prefix}told`, `${prefix}untold`];
      await locks.lock(name).acquire({ leaseMs: LONG_MS });
      await other.lock(silent).acquire({ leaseMs: LONG_MS });
      const record = { application: 'billing', host: hostname(), pid: process.pid };
      // The record is written in the background.
      await waitFor(
        async () => {
          const found = await other.inspect(name, { record: true });
          return found?.kind === 'lock' && found.record !== undefined;
        },
        { what: 'the record' },
      );
      expect(await other.inspect(name, { record: true })).toMatchObject({ name, record });
      expect(await other.inspect(name)).not.toHaveProperty('record');
      const found = await listed(other, { prefix, record: true });
      expect(found.find((one) => one.name === name)).toMatchObject({ record });
      expect(found.find((one) => one.name === silent)).not.toHaveProperty('record');
    });

    test('what is no lock is told by its type', async ({ bench }) => {
      const locks = await bench.session();
      for (const [label, { found, plant }] of Object.entries(DATA)) {
        const name = bench.name(label);
        await plant(bench.redis, bench.foreignKey(name));
        expect(await locks.inspect(name)).toEqual({ name, kind: 'other', found, ttlMs: -1 });
      }
    });
  });

  describe('listing', () => {
    test('only what is held and begins so is listed, under the names that callers use', async ({ bench }) => {
      const [locks, other] = await Promise.all([bench.session(), bench.session()]);
      const [prefix, elsewhere] = [bench.name('a:'), bench.name('b:')];
      const held = [`${prefix}1`, `${prefix}2`, `${prefix}3`];
      const [lockName, mutexName, javaName] = held as [string, string, string];
      await locks.lock(lockName).acquire();
      await other.mutex(mutexName).acquire();
      await LOCK.seize(bench.send, bench.foreignKey(javaName), LONG_MS);
      await locks.lock(`${elsewhere}1`).acquire();
      await locks.lock(`${prefix}free`).using(() => {});
      for (const [label, { plant }] of Object.entries(DATA)) {
        await plant(bench.redis, bench.foreignKey(`${prefix}${label}`));
      }
      await bench.redis.set(bench.foreignKey(`${prefix}cached`), 'hello', 'PX', LONG_MS);
      const found = await listed(locks, { prefix });
      expect(found.map(({ name }) => name).sort()).toEqual(held);
      expect(found.find(({ name }) => name === mutexName)?.kind).toBe('mutex');
      expect(found.find(({ name }) => name === lockName)).toMatchObject({ kind: 'lock', holdCount: 1 });
      expect(await listed(locks, { prefix: bench.name('c:') })).toEqual([]);
      expect(await listedNames(locks)).toEqual(expect.arrayContaining([...held, `${elsewhere}1`]));
    });

    test('what may be a mutex of another library, or a cached value, is listed when all is asked for', async ({
      bench,
    }) => {
      const locks = await bench.session();
      const prefix = bench.name('m:');
      const [ours, theirs, cached] = [`${prefix}1`, `${prefix}2`, `${prefix}3`];
      await locks.mutex(ours).acquire();
      await MUTEX.seize(bench.send, bench.foreignKey(theirs), LONG_MS);
      await bench.redis.set(bench.foreignKey(cached), randomUUID(), 'PX', LONG_MS);
      await bench.redis.set(bench.foreignKey(`${prefix}4`), 'hello', 'PX', LONG_MS);
      expect(await listedNames(locks, { prefix })).toEqual([ours]);
      expect(await listedNames(locks, { prefix, all: true })).toEqual([ours, theirs, cached]);
      const wrong = listed(locks, { all: 'yes' } as unknown as ListOptions);
      expect(await rejection(wrong)).toBeInstanceOf(LockConfigError);
    });

    test('glob characters in a prefix mean themselves', async ({ bench }) => {
      const locks = await bench.session();
      const labels = ['*', '?', '[a]', '[^a]', '[a-c]', '\\', '\\*', '-', '^', 'a', 'b', 'ab'];
      const prefix = bench.name('g');
      const names = labels.map((label) => `${prefix}${label}`);
      for (const name of names) await locks.mutex(name).acquire();
      for (const name of names) {
        const matching = names.filter((one) => one.startsWith(name)).sort();
        expect(await listedNames(locks, { prefix: name })).toEqual(matching);
      }
    });

    test('many locks are each listed once', async ({ bench }) => {
      const locks = await bench.session();
      const prefix = bench.name('many:');
      const names = Array.from({ length: 300 }, (_, index) => `${prefix}${index}`);
      const leases = await Promise.all(names.map((name) => locks.lock(name).acquire()));
      expect(await listedNames(locks, { prefix })).toEqual(names.sort());
      for (const lease of leases) expect(await lease.release()).toBe(true);
    });
  });

  for (const kind of KINDS) forceContract(test, kind);
}

function forceContract(test: ContractTest, kind: Kind): void {
  describe(`releasing a ${kind.name} by force`, () => {
    test('an owner of this session is told before the call returns', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lease = await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
      const { signal } = lease;
      const owner = kind.shown(await kind.owner(bench.send, bench.key(name)));
      const revoked = await locks.forceRelease(name);
      // Also an owner that has lost it in another way has been told by now. Only the reason depends on a stall.
      always(() => expect([signal.aborted, lease.isHeld]).toEqual([true, false]));
      expect(revoked).toBe(owner);
      expect(signal.reason).toMatchObject({ code: 'ELOCKLOST', lock: name, reason: 'revoked' });
      expect(await lease.release()).toBe(false);
      expect(await bench.redis.exists(bench.key(name))).toBe(0);
      expect(await locks.forceRelease(name)).toBeNull();
    });

    test('an owner of another session is told why by its next renewal, and waiters are woken', async ({
      bench,
    }) => {
      const [locks, admin, third] = await Promise.all([bench.session(), bench.session(), bench.session()]);
      const name = bench.name();
      const lease = await kind.of(locks, name).acquire({ leaseMs: 4_800 });
      const reason = aborted(lease.signal);
      const waiting = kind.of(third, name).acquire({ leaseMs: LONG_MS });
      await bench.untilWaiting(kind, name);
      const forcedMs = performance.now();
      expect(await admin.forceRelease(name, { reason: 'stuck "since" noon\u0007' })).not.toBeNull();
      expect((await waiting).isHeld).toBe(true);
      expect(performance.now() - forcedMs).toBeLessThan(PROMPT_MS);
      expect(await reason).toMatchObject({
        code: 'ELOCKLOST',
        reason: 'revoked',
        message: expect.stringContaining('it was released by force: "stuck \\"since\\" noon\\u{7}"'),
      });
      expect((await waiting).isHeld).toBe(true);
      await bench.clearWords();
    });

    test('its next owner, who loses it in another way, hears no words of those', async ({ bench }) => {
      const [locks, next, admin] = await Promise.all([bench.session(), bench.session(), bench.session()]);
      const name = bench.name();
      await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
      expect(await admin.forceRelease(name, { reason: 'stuck' })).not.toBeNull();
      const after = await kind.of(next, name).acquire({ leaseMs: LONG_MS });
      const reason = aborted(after.signal);
      await bench.redis.del(bench.key(name));
      await rejection(after.extend(LONG_MS));
      expect(await reason).toMatchObject({ code: 'ELOCKLOST', reason: 'gone' });
      await bench.clearWords();
    });

    test('an owner that is named loses it, and an owner after it does not', async ({ bench }) => {
      const [locks, next, admin] = await Promise.all([bench.session(), bench.session(), bench.session()]);
      const name = bench.name();
      const lease = await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
      const shown = await admin.inspect(name);
      if (shown?.kind !== kind.name) throw new Error('nobody holds it');
      const { owner } = shown;
      await lease.release();
      // Nobody has it: nobody loses it.
      expect(await admin.forceRelease(name, { owner })).toBeNull();
      const after = await kind.of(next, name).acquire({ leaseMs: LONG_MS });
      const holder = kind.shown(await kind.owner(bench.send, bench.key(name)));
      const error = await rejection(admin.forceRelease(name, { owner }));
      expect(error).toBeInstanceOf(LockNotHeldError);
      expect(error).toMatchObject({ code: 'ELOCKNOTHELD', lock: name, holder: { owner: holder } });
      expect(after.isHeld).toBe(true);
      expect(kind.shown(await kind.owner(bench.send, bench.key(name)))).toBe(holder);
      expect(await admin.forceRelease(name, { owner: holder })).toBe(holder);
      expect(await after.release()).toBe(false);
      for (const wrong of ['', 7]) {
        const refused = admin.forceRelease(name, { owner: wrong as string });
        expect(await rejection(refused)).toBeInstanceOf(LockConfigError);
      }
    });

    test('callers behind the owner in its own session go on', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
      const waiting = kind.of(locks, name).acquire();
      const forcedMs = performance.now();
      await locks.forceRelease(name);
      expect((await waiting).isHeld).toBe(true);
      expect(performance.now() - forcedMs).toBeLessThan(PROMPT_MS);
    });

    test('what another library holds is released, and told', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const key = bench.foreignKey(name);
      const messages = await bench.messagesOn(kind.channel(key));
      const owner = await kind.seize(bench.send, key, LONG_MS);
      expect(await locks.forceRelease(name)).toBe(kind.shown(owner));
      expect(await messages.taken()).toEqual(['0']);
      expect(await bench.redis.exists(key)).toBe(0);
    });

    if (kind === LOCK) dataIsSafe(test);
  });
}

function dataIsSafe(test: ContractTest): void {
  test('data under the name is left alone', async ({ bench }) => {
    const locks = await bench.session();
    const { redis } = bench;
    for (const [label, { plant }] of Object.entries(DATA)) {
      const name = bench.name(label);
      const key = bench.foreignKey(name);
      await plant(redis, key);
      const before = await bench.content(key);
      const error = await rejection(locks.forceRelease(name));
      expect(error).toBeInstanceOf(LockConflictError);
      expect(error).toMatchObject({ code: 'ELOCKCONFLICT', lock: name });
      expect(await bench.content(key)).toEqual(before);
    }
  });
}
