import { beforeEach, expect, test } from 'vitest';
import { type LockRaiseInput, lockRaise } from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

const INPUT: LockRaiseInput = {
  lock: 'order',
  fence: 'redisson_lock_token:{order}',
  holder: 'session:1',
  last: 1_700_000_000_000_064,
  fenceTtlMs: 600_000,
  isGiven: 0,
};

async function raise(changes: Partial<LockRaiseInput> = {}): Promise<unknown> {
  return lockRaise.decode(await database.run(lockRaise.call({ ...INPUT, ...changes })));
}

async function counter(): Promise<number> {
  return Number(await database.redis.get(INPUT.fence));
}

beforeEach(async () => {
  await database.redis.hset(INPUT.lock, INPUT.holder, '1');
  await database.redis.pexpire(INPUT.lock, 30_000);
  await database.redis.set(INPUT.fence, `${INPUT.last - 500}`, 'PX', 1_000);
});

test('a counter is raised to the end of the block, and outlives the lease', async () => {
  expect(await raise()).toMatchObject({ is: 'RAISED', last: INPUT.last });
  expect(await counter()).toBe(INPUT.last);
  await database.expectTtl(INPUT.fence, 30_000 + INPUT.fenceTtlMs);
});

test('a counter without a life of its own is kept for ever', async () => {
  await raise({ fenceTtlMs: 0 });
  await database.expectNoTtl(INPUT.fence);
});

test('a counter that was lost is set', async () => {
  await database.redis.del(INPUT.fence);
  expect(await raise()).toMatchObject({ is: 'RAISED' });
  expect(await counter()).toBe(INPUT.last);
});

test('a repeat finds it done', async () => {
  await raise();
  expect(await raise()).toMatchObject({ is: 'RAISED', last: INPUT.last });
  expect(await counter()).toBe(INPUT.last);
});

test('without the vote nothing is raised', async () => {
  await database.redis.del(INPUT.lock);
  expect(await raise()).toEqual({ is: 'GONE' });
  await database.redis.hset(INPUT.lock, 'session:2', '1');
  expect(await raise()).toEqual({ is: 'GONE' });
  expect(await counter()).toBe(INPUT.last - 500);
});

test('a fence that was given is raised also where nobody holds the lock, which is not a vote', async () => {
  await database.redis.del(INPUT.lock);
  expect(await raise({ isGiven: 1 })).toEqual({ is: 'GONE' });
  expect(await counter()).toBe(INPUT.last);
  await database.expectTtl(INPUT.fence, INPUT.fenceTtlMs);
  expect(await database.redis.exists(INPUT.lock)).toBe(0);
});

test('a counter that was lost where nobody holds the lock is set to the time: later fences may be lost with it', async () => {
  await database.redis.del(INPUT.lock, INPUT.fence);
  const beforeUs = Number((await database.redis.time())[0]) * 1_000_000;
  expect(await raise({ isGiven: 1 })).toEqual({ is: 'GONE' });
  expect(await counter()).toBeGreaterThanOrEqual(beforeUs);
});

test('a fence that was given is not raised under another owner, whose block ends at the counter', async () => {
  await database.redis.del(INPUT.lock);
  await database.redis.hset(INPUT.lock, 'session:2', '1');
  expect(await raise({ isGiven: 1 })).toEqual({ is: 'GONE' });
  expect(await counter()).toBe(INPUT.last - 500);
});

test('a counter that is past the block does not count, and is not lowered', async () => {
  await database.redis.set(INPUT.fence, `${INPUT.last + 1}`);
  expect(await raise()).toEqual({ is: 'GONE' });
  expect(await counter()).toBe(INPUT.last + 1);
});

test('a counter that is no number does not count, and is not touched', async () => {
  await database.redis.set(INPUT.fence, 'somebody’s');
  expect(await raise()).toEqual({ is: 'GONE' });
  expect(await database.redis.get(INPUT.fence)).toBe('somebody’s');
});
