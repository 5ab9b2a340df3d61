import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  type AdminInspectInput,
  type AdminInspectOutcome,
  adminInspect,
} from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

const INPUT: AdminInspectInput = {
  name: 'order',
  fence: 'redisson_lock_token:{order}',
  line: 'holdfast_line:{order}',
  lockChannel: 'lock-channel',
  mutexChannel: 'mutex-channel',
  mode: 'plain',
};

async function inspect(): Promise<AdminInspectOutcome> {
  return adminInspect.decode(await database.run(adminInspect.call(INPUT)));
}

async function holdLock(): Promise<void> {
  await database.redis.hset(INPUT.name, 'session:1', '3');
  await database.redis.pexpire(INPUT.name, 30_000);
}

test('a name without a key is absent', async () => {
  await database.redis.set(INPUT.fence, '7');
  expect(await inspect()).toEqual({ is: 'ABSENT' });
});

test('a lock is told with owner, count, time left, fence and waiters', async () => {
  await database.listen(INPUT.lockChannel);
  await holdLock();
  await database.redis.set(INPUT.fence, '1794779870503000');
  const outcome = await inspect();
  expect(outcome).toMatchObject({
    is: 'LOCK',
    owner: 'session:1',
    count: '3',
    fence: '1794779870503000',
    waiters: 1,
  });
  if (outcome.is === 'LOCK') expect(outcome.ttlMs).toBeGreaterThan(28_000);
});

test('a lock without a TTL or a fence is told as it is', async () => {
  const owner = '0b7c1d52-3f64-4a8e-9c05-7d1e2f3a4b5c:41';
  await database.redis.hset(INPUT.name, owner, '1');
  expect(await inspect()).toEqual({ is: 'LOCK', owner, count: '1', ttlMs: -1, fence: '', waiters: 0 });
});

test('a fence counter of another type does not hide the lock', async () => {
  await holdLock();
  await database.redis.rpush(INPUT.fence, 'x');
  expect(await inspect()).toMatchObject({ is: 'LOCK', fence: '' });
});

test('a mutex is told with a digest of its token, time left and waiters', async () => {
  await database.listen(INPUT.mutexChannel);
  await database.redis.set(INPUT.name, 'token-1', 'PX', 30_000);
  const outcome = await inspect();
  const owner = createHash('sha1').update('token-1').digest('hex');
  expect(outcome).toMatchObject({ is: 'MUTEX', owner, waiters: 1 });
  if (outcome.is === 'MUTEX') expect(outcome.ttlMs).toBeGreaterThan(28_000);
});

test('a string that is too long for a token is told by its type', async () => {
  await database.redis.set(INPUT.name, 'x'.repeat(1_024), 'PX', 30_000);
  expect(await inspect()).toMatchObject({ is: 'MUTEX' });
  await database.redis.set(INPUT.name, 'x'.repeat(1_025), 'PX', 30_000);
  expect(await inspect()).toMatchObject({ is: 'OTHER', found: 'string' });
});

test.each(['x', '1'.repeat(17)])('a fence counter that holds %j is not told', async (garbage) => {
  await holdLock();
  await database.redis.set(INPUT.fence, garbage);
  expect(await inspect()).toMatchObject({ is: 'LOCK', fence: '' });
});

test('a hash of another kind is told by its type', async () => {
  await database.redis.hset(INPUT.name, { 'session:1': '1', mode: 'read' });
  expect(await inspect()).toEqual({ is: 'OTHER', found: 'hash', ttlMs: -1 });
  await database.redis.del(INPUT.name);
  await database.redis.hset(INPUT.name, { 'session:1': 'read' });
  expect(await inspect()).toEqual({ is: 'OTHER', found: 'hash', ttlMs: -1 });
});

test('a key of another type is told by its type', async () => {
  await database.redis.rpush(INPUT.name, 'x');
  await database.redis.pexpire(INPUT.name, 30_000);
  const outcome = await inspect();
  expect(outcome).toMatchObject({ is: 'OTHER', found: 'list' });
  if (outcome.is === 'OTHER') expect(outcome.ttlMs).toBeGreaterThan(28_000);
});

test('looking twice changes nothing', async () => {
  await holdLock();
  const contents = await database.contents();
  expect(await inspect()).toMatchObject({ is: 'LOCK' });
  expect(await inspect()).toMatchObject({ is: 'LOCK' });
  expect(await database.contents()).toEqual(contents);
  await database.expectTtl(INPUT.name, 30_000);
});

test('a server out of memory can be looked at', async () => {
  await holdLock();
  await database.whileOutOfMemory(async () => {
    expect(await inspect()).toMatchObject({ is: 'LOCK' });
  });
});

test('a user who may not count subscribers sees no waiters', async () => {
  await holdLock();
  const user = await database.restricted('-pubsub');
  expect(adminInspect.decode(await database.run(adminInspect.call(INPUT), user))).toMatchObject({
    is: 'LOCK',
    waiters: 0,
  });
});

test.each([
  ['plain', 2],
  ['sharded', 1],
  ['both', 2],
] as const)('waiters that listen %s are counted, once each', async (mode, waiters) => {
  await database.listen(INPUT.lockChannel);
  await database.listen(INPUT.lockChannel);
  await database.listen(INPUT.lockChannel, 'sharded');
  await holdLock();
  const reply = await database.run(adminInspect.call({ ...INPUT, mode }));
  expect(adminInspect.decode(reply)).toMatchObject({ is: 'LOCK', waiters });
});
