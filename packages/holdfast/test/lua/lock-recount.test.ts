import { expect, test } from 'vitest';
import { type LockRecountInput, type LockRecountOutcome, lockRecount } from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

const INPUT: LockRecountInput = {
  lock: 'order',
  fence: 'redisson_lock_token:{order}',
  holder: 'session:1',
  count: 2,
  leaseMs: 10_000,
  fixed: 0,
  // What it does to the counter of fences is tested in fence-counter.test.ts; here there is none to state.
  lastFence: 0,
  fenceTtlMs: 600_000,
};

async function recount(changes: Partial<LockRecountInput> = {}): Promise<LockRecountOutcome> {
  return lockRecount.decode(await database.run(lockRecount.call({ ...INPUT, ...changes })));
}

async function hold(ttlMs: number): Promise<void> {
  await database.redis.hset(INPUT.lock, INPUT.holder, '1');
  await database.redis.pexpire(INPUT.lock, ttlMs);
}

test('a hold has the count that is stated, also after a second call', async () => {
  await hold(30_000);
  expect(await recount()).toEqual({ is: 'COUNTED' });
  expect(await recount()).toEqual({ is: 'COUNTED' });
  expect(await database.contents()).toEqual({ [INPUT.lock]: { [INPUT.holder]: '2' } });
});

test('a count may go down', async () => {
  await hold(30_000);
  await recount({ count: 3 });
  await recount({ count: 1 });
  expect(await database.contents()).toEqual({ [INPUT.lock]: { [INPUT.holder]: '1' } });
});

test('a longer lease is not shortened', async () => {
  await hold(30_000);
  await recount();
  await database.expectTtl(INPUT.lock, 30_000);
});

test('a shorter lease is made as long as asked', async () => {
  await hold(3_000);
  await recount();
  await database.expectTtl(INPUT.lock, 10_000);
});

test('a fixed lease is made neither longer nor shorter', async () => {
  for (const ttlMs of [3_000, 30_000]) {
    await hold(ttlMs);
    expect(await recount({ fixed: 1 })).toEqual({ is: 'COUNTED' });
    expect(await recount({ fixed: 1 })).toEqual({ is: 'COUNTED' });
    expect(await database.contents()).toEqual({ [INPUT.lock]: { [INPUT.holder]: '2' } });
    await database.expectTtl(INPUT.lock, ttlMs);
  }
});

test('a lock without a TTL gets one, also with a fixed lease', async () => {
  for (const fixed of [0, 1]) {
    await database.redis.del(INPUT.lock);
    await database.redis.hset(INPUT.lock, INPUT.holder, '1');
    await recount({ fixed });
    await database.expectTtl(INPUT.lock, 10_000);
  }
});

test('a lock that is absent is gone and is not created', async () => {
  expect(await recount()).toEqual({ is: 'GONE' });
  expect(await recount()).toEqual({ is: 'GONE' });
  expect(await database.contents()).toEqual({});
});

test('a lock of somebody else is gone and is not touched', async () => {
  await hold(5_000);
  expect(await recount({ holder: 'session:2' })).toEqual({ is: 'GONE' });
  expect(await database.contents()).toEqual({ [INPUT.lock]: { [INPUT.holder]: '1' } });
  await database.expectTtl(INPUT.lock, 5_000);
});

test('a key of another type is an error and is not touched', async () => {
  await database.redis.set(INPUT.lock, 'mine');
  await expect(recount()).rejects.toThrow(/^WRONGTYPE/);
  expect(await database.contents()).toEqual({ [INPUT.lock]: 'mine' });
  await database.expectNoTtl(INPUT.lock);
});

test('a server out of memory still counts', async () => {
  await hold(30_000);
  await database.whileOutOfMemory(async () => {
    expect(await recount()).toEqual({ is: 'COUNTED' });
  });
});

test('a hold that was taken away by force is gone with the words that were left for it, and for no other', async () => {
  const left = `holdfast_revoked:{${INPUT.lock}}:${INPUT.holder}`;
  await database.redis.set(left, 'revoked stuck', 'PX', 5_000);
  expect(await recount()).toEqual({ is: 'REVOKED', words: 'stuck' });
  expect(await recount()).toEqual({ is: 'REVOKED', words: 'stuck' });
  expect(await recount({ holder: 'session:2' })).toEqual({ is: 'GONE' });
  await hold(3_000);
  expect(await recount()).toEqual({ is: 'COUNTED' });
});
