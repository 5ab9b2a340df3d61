/** A key that holds something else is refused, and left as it is to the byte. */
import { describe, expect } from 'vitest';
import { LockConflictError } from '../../../src/index.ts';
import { fenceCounter, type Kind, LOCK, MUTEX } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import type { ContractBench } from '../bench.ts';
import type { ContractTest } from '../harness.ts';

type Plant = (bench: ContractBench, key: string) => Promise<unknown>;

const ALIEN_TO_BOTH: Readonly<Record<string, Plant>> = {
  'a list': (bench, key) => bench.redis.rpush(key, 'a', 'b'),
  'a set': (bench, key) => bench.redis.sadd(key, 'a', 'b'),
  'a sorted set': (bench, key) => bench.redis.zadd(key, 1, 'a'),
  'a hash of data': (bench, key) => bench.redis.hset(key, 'city', 'Turku'),
  'a hash of one number': (bench, key) => bench.redis.hset(key, 'visits', '7'),
};

const ALIEN: Readonly<Record<Kind['name'], Readonly<Record<string, Plant>>>> = {
  lock: {
    ...ALIEN_TO_BOTH,
    'a string': (bench, key) => bench.redis.set(key, 'data'),
    'a mutex': (bench, key) => MUTEX.seize(bench.send, key, 30_000),
    'a hash of several fields': (bench, key) => bench.redis.hset(key, { one: '1', two: '2' }),
    'a read-write lock': (bench, key) =>
      bench.redis.hset(key, { mode: 'read', 'b7a3e1d0-0000-4000-8000-000000000000:1': '1' }),
  },
  mutex: {
    ...ALIEN_TO_BOTH,
    'a lock': (bench, key) => LOCK.seize(bench.send, key, 30_000),
  },
};

export function conflictContract(test: ContractTest, kind: Kind): void {
  describe(`a ${kind.name} on a key that is something else`, () => {
    for (const [title, plant] of Object.entries(ALIEN[kind.name])) {
      test(`${title} is refused and left as it is`, async ({ bench }) => {
        const locks = await bench.session();
        const name = bench.name();
        const key = bench.foreignKey(name);
        await plant(bench, key);
        const before = await bench.content(key);
        const isForEver = (await bench.redis.pttl(key)) === -1;
        const lock = kind.of(locks, name);
        let runs = 0;
        const body = (): void => {
          runs += 1;
        };
        for (const attempt of [
          lock.acquire(),
          lock.tryAcquire(),
          lock.using(body),
          lock.acquire({ waitMs: 5_000 }),
        ]) {
          const error = await rejection(attempt);
          expect(error).toBeInstanceOf(LockConflictError);
          expect(error).toMatchObject({ code: 'ELOCKCONFLICT', lock: name });
          expect((error as Error).message).toContain(name);
        }
        expect(runs).toBe(0);
        expect(await bench.content(key)).toEqual(before);
        expect((await bench.redis.pttl(key)) === -1).toBe(isForEver);
        expect(await bench.keys()).toEqual([key]);
      });
    }

    if (kind === LOCK) foreignFieldContract(test);

    test('a key that becomes something else is refused to those who wait', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const key = bench.foreignKey(name);
      await kind.seize(bench.send, key, 30_000);
      const waiting = [1, 2].map(() => rejection(kind.of(locks, name).acquire()));
      await bench.untilWaiting(kind, name);
      await bench.redis.multi().del(key).rpush(key, 'data').publish(kind.channel(key), '0').exec();
      for (const error of await Promise.all(waiting)) expect(error).toBeInstanceOf(LockConflictError);
      expect(await bench.redis.lrange(key, 0, -1)).toEqual(['data']);
    });
  });
}

/** Somebody writes into the hash of a lock that is held. */
function foreignFieldContract(test: ContractTest): void {
  test('a field that somebody puts beside the owner outlives the release, and is a conflict', async ({
    bench,
  }) => {
    const [locks, other] = await Promise.all([bench.session(), bench.session()]);
    const name = bench.name();
    const key = bench.foreignKey(name);
    const lease = await locks.lock(name).acquire({ leaseMs: 30_000 });
    const waiting = rejection(other.lock(name).acquire());
    await bench.untilWaiting(LOCK, name);
    await bench.redis.hset(key, 'mode', 'read');
    expect(await other.inspect(name)).toMatchObject({ kind: 'other', found: 'hash' });
    expect(await rejection(other.forceRelease(name))).toBeInstanceOf(LockConflictError);
    expect(await lease.release()).toBe(true);
    expect(await bench.redis.hgetall(key)).toEqual({ mode: 'read' });
    expect(await bench.redis.pttl(key)).toBeGreaterThan(0);
    // Who waits is told of it by the release, and not after a timer.
    expect(await waiting).toBeInstanceOf(LockConflictError);
    expect(await rejection(locks.lock(name).tryAcquire())).toBeInstanceOf(LockConflictError);
    expect(await bench.redis.hgetall(key)).toEqual({ mode: 'read' });
  });
}

/** A lock has a second key, which can be somebody else's too. */
export function counterConflictContract(test: ContractTest): void {
  const counters: Readonly<Record<string, Plant>> = {
    'a list': (bench, key) => bench.redis.rpush(key, 'a'),
    'not a number': (bench, key) => bench.redis.set(key, 'many'),
    'a number too large to grow': (bench, key) => bench.redis.set(key, '9007199254740991'),
  };

  describe('a lock whose counter of fences is something else', () => {
    for (const [title, plant] of Object.entries(counters)) {
      test(`a counter that is ${title} is refused before anything is written`, async ({ bench }) => {
        const locks = await bench.session();
        const name = bench.name();
        const counter = fenceCounter(bench.key(name));
        await plant(bench, counter);
        const before = await bench.content(counter);
        const error = await rejection(locks.lock(name).acquire());
        expect(error).toBeInstanceOf(LockConflictError);
        expect(await bench.keys()).toEqual([counter]);
        expect(await bench.content(counter)).toEqual(before);
      });
    }
  });
}
