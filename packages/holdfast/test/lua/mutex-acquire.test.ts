import { expect, test } from 'vitest';
import {
  type MutexAcquireInput,
  type MutexAcquireOutcome,
  mutexAcquire,
} from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

const INPUT: MutexAcquireInput = {
  mutex: 'report',
  line: 'holdfast_line:{report}',
  token: 'token-1',
  leaseMs: 30_000,
  notAfterMs: 0,
  ticket: '',
};

async function acquire(changes: Partial<MutexAcquireInput> = {}): Promise<MutexAcquireOutcome> {
  return mutexAcquire.decode(await database.run(mutexAcquire.call({ ...INPUT, ...changes })));
}

test('a free mutex is granted, told with the time of the server', async () => {
  const before = await database.nowMs();
  const outcome = await acquire();
  expect(outcome.is).toBe('GRANTED');
  expect(outcome.nowMs).toBeGreaterThanOrEqual(before);
  expect(outcome.nowMs).toBeLessThanOrEqual(await database.nowMs());
});

test('a grant leaves the token with its lease and nothing else', async () => {
  await acquire();
  expect(await database.contents()).toEqual({ [INPUT.mutex]: INPUT.token });
  await database.expectTtl(INPUT.mutex, INPUT.leaseMs);
});

test('a repeat with the same token gets a full lease again', async () => {
  await acquire();
  await database.redis.pexpire(INPUT.mutex, 5_000);
  expect((await acquire()).is).toBe('GRANTED');
  expect(await database.contents()).toEqual({ [INPUT.mutex]: INPUT.token });
  await database.expectTtl(INPUT.mutex, INPUT.leaseMs);
});

test('a mutex that is held is refused with the time left, and is not touched', async () => {
  await acquire({ leaseMs: 5_000 });
  const outcome = await acquire({ token: 'token-2' });
  expect(outcome).toMatchObject({ is: 'HELD', owner: 'token-1' });
  if (outcome.is === 'HELD') {
    expect(outcome.ttlMs).toBeLessThanOrEqual(5_000);
    expect(outcome.ttlMs).toBeGreaterThan(3_000);
  }
  expect((await acquire({ token: 'token-2' })).is).toBe('HELD');
  expect(await database.contents()).toEqual({ [INPUT.mutex]: INPUT.token });
  await database.expectTtl(INPUT.mutex, 5_000);
});

test('a string that never expires is held for an unknown time and is not touched', async () => {
  await database.redis.set(INPUT.mutex, 'data');
  expect(await acquire()).toMatchObject({ is: 'HELD', ttlMs: -1 });
  expect(await database.contents()).toEqual({ [INPUT.mutex]: 'data' });
  await database.expectNoTtl(INPUT.mutex);
});

test('a token of ours without a TTL gets one', async () => {
  await database.redis.set(INPUT.mutex, INPUT.token);
  expect((await acquire()).is).toBe('GRANTED');
  await database.expectTtl(INPUT.mutex, INPUT.leaseMs);
});

test('a request that comes too late is refused and writes nothing', async () => {
  const nowMs = await database.nowMs();
  expect((await acquire({ notAfterMs: nowMs - 1 })).is).toBe('LATE');
  expect((await acquire({ notAfterMs: nowMs - 1 })).is).toBe('LATE');
  expect(await database.contents()).toEqual({});
});

test('a request in time is granted', async () => {
  expect((await acquire({ notAfterMs: (await database.nowMs()) + 60_000 })).is).toBe('GRANTED');
});

test('a late repeat does not renew', async () => {
  await acquire({ leaseMs: 5_000 });
  expect((await acquire({ notAfterMs: 1 })).is).toBe('LATE');
  await database.expectTtl(INPUT.mutex, 5_000);
});

test('a key of another type is a conflict and is not touched', async () => {
  await database.redis.hset(INPUT.mutex, 'session:1', '1');
  expect(await acquire()).toMatchObject({ is: 'CONFLICT', found: 'a hash' });
  expect(await acquire()).toMatchObject({ is: 'CONFLICT', found: 'a hash' });
  expect(await database.contents()).toEqual({ [INPUT.mutex]: { 'session:1': '1' } });
  await database.expectNoTtl(INPUT.mutex);
});

test('a user that may not read the mutex is refused, and not told of a conflict', async () => {
  await acquire({ token: 'token-2' });
  const restricted = await database.restricted('-get');
  await expect(database.run(mutexAcquire.call(INPUT), restricted)).rejects.toThrow(
    /can't run this command|ACL failure|NOPERM/,
  );
  expect(await database.contents()).toEqual({ [INPUT.mutex]: 'token-2' });
});

test('a server out of memory refuses before anything is written', async () => {
  await database.whileOutOfMemory(async () => {
    await expect(acquire()).rejects.toThrow(/^OOM/);
  });
  expect(await database.contents()).toEqual({});
});

test('a repeat that arrives behind one that stated more does not shorten the lease', async () => {
  await acquire({ leaseMs: 30_000 });
  expect((await acquire({ leaseMs: 3_000 })).is).toBe('GRANTED');
  await database.expectTtl(INPUT.mutex, 30_000);
});
