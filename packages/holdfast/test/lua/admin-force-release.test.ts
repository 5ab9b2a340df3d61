import { expect, test } from 'vitest';
import {
  type AdminForceReleaseInput,
  type AdminForceReleaseOutcome,
  adminForceRelease,
} from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

const INPUT: AdminForceReleaseInput = {
  name: 'order',
  lockChannel: 'lock-channel',
  mutexChannel: 'mutex-channel',
  how: 'plain',
};

async function forceRelease(): Promise<AdminForceReleaseOutcome> {
  return adminForceRelease.decode(await database.run(adminForceRelease.call(INPUT)));
}

async function holdLock(): Promise<void> {
  await database.redis.hset(INPUT.name, 'session:1', '3');
  await database.redis.pexpire(INPUT.name, 30_000);
}

test('a lock is taken away, whatever its count, and its waiters are woken', async () => {
  const ofLock = await database.listen(INPUT.lockChannel);
  const ofMutex = await database.listen(INPUT.mutexChannel);
  await holdLock();
  await database.redis.set('other', 'kept');
  expect(await forceRelease()).toEqual({ is: 'RELEASED', owner: 'session:1', receivers: 1 });
  expect(await database.contents()).toEqual({ other: 'kept' });
  expect(await ofLock.heard()).toEqual(['0']);
  expect(await ofMutex.heard()).toEqual([]);
});

test('a mutex is taken away and its waiters are woken', async () => {
  const ofLock = await database.listen(INPUT.lockChannel);
  const ofMutex = await database.listen(INPUT.mutexChannel);
  await database.redis.set(INPUT.name, 'token-1', 'PX', 30_000);
  expect(await forceRelease()).toEqual({ is: 'RELEASED', owner: 'token-1', receivers: 1 });
  expect(await database.contents()).toEqual({});
  expect(await ofLock.heard()).toEqual([]);
  expect(await ofMutex.heard()).toEqual(['0']);
});

test('a second call answers gone and wakes nobody', async () => {
  const waiter = await database.listen(INPUT.lockChannel);
  await holdLock();
  await forceRelease();
  await waiter.heard();
  expect(await forceRelease()).toEqual({ is: 'GONE' });
  expect(await waiter.heard()).toEqual([]);
});

test('a string that never expires is a conflict and is not touched', async () => {
  await database.redis.set(INPUT.name, 'data');
  expect(await forceRelease()).toEqual({ is: 'CONFLICT', found: 'a string without an expiry' });
  expect(await database.contents()).toEqual({ [INPUT.name]: 'data' });
});

test.each<[what: string, found: string, fields: Record<string, string>]>([
  ['several fields', 'hash', { 'session:1': '1', mode: 'read' }],
  ['a word for a count', 'a hash that is not a lock', { 'session:1': 'read' }],
])('a hash with %s is a conflict and is not touched', async (_what, found, fields) => {
  await database.redis.hset(INPUT.name, fields);
  expect(await forceRelease()).toEqual({ is: 'CONFLICT', found });
  expect(await forceRelease()).toEqual({ is: 'CONFLICT', found });
  expect(await database.contents()).toEqual({ [INPUT.name]: fields });
});

test('a key of another type is a conflict and is not touched', async () => {
  await database.redis.rpush(INPUT.name, 'x');
  expect(await forceRelease()).toEqual({ is: 'CONFLICT', found: 'list' });
  expect(await database.contents()).toEqual({ [INPUT.name]: ['x'] });
});

test('a server out of memory still releases', async () => {
  await holdLock();
  await database.whileOutOfMemory(async () => {
    expect(await forceRelease()).toMatchObject({ is: 'RELEASED' });
  });
});

test('a user who may not publish still releases', async () => {
  await holdLock();
  const user = await database.restricted('resetchannels');
  expect(adminForceRelease.decode(await database.run(adminForceRelease.call(INPUT), user))).toEqual({
    is: 'RELEASED',
    owner: 'session:1',
    receivers: 0,
  });
});
