import { createHash } from 'node:crypto';
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
  line: 'holdfast_line:{order}',
  owner: '',
  lockChannel: 'lock-channel',
  mutexChannel: 'mutex-channel',
  mode: 'plain',
};

/** What a mutex with the value `token-1` has for an owner. */
const TOKEN_1 = createHash('sha1').update('token-1').digest('hex');

async function forceRelease(owner = ''): Promise<AdminForceReleaseOutcome> {
  return adminForceRelease.decode(await database.run(adminForceRelease.call({ ...INPUT, owner })));
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
  expect(await forceRelease()).toEqual({ is: 'RELEASED', owner: TOKEN_1, receivers: 1 });
  expect(await database.contents()).toEqual({});
  expect(await ofLock.heard()).toEqual([]);
  expect(await ofMutex.heard()).toEqual(['0']);
});

test('a lock is taken from the owner that is named, and from no other', async () => {
  const waiter = await database.listen(INPUT.lockChannel);
  await holdLock();
  const contents = await database.contents();
  const refused = await forceRelease('session:0');
  expect(refused).toEqual({ is: 'HELD', owner: 'session:1', ttlMs: expect.any(Number) });
  expect(await forceRelease('session:0')).toMatchObject({ is: 'HELD', owner: 'session:1' });
  expect(await database.contents()).toEqual(contents);
  expect(await waiter.heard()).toEqual([]);
  expect(await forceRelease('session:1')).toMatchObject({ is: 'RELEASED', owner: 'session:1' });
  expect(await forceRelease('session:1')).toEqual({ is: 'GONE' });
});

test('a mutex is taken from the owner whose digest is named, and from no other', async () => {
  await database.redis.set(INPUT.name, 'token-2', 'PX', 30_000);
  expect(await forceRelease(TOKEN_1)).toMatchObject({
    is: 'HELD',
    owner: expect.not.stringContaining('token'),
  });
  // The token itself is not what owners are named by.
  expect(await forceRelease('token-2')).toMatchObject({ is: 'HELD' });
  expect(await database.contents()).toEqual({ [INPUT.name]: 'token-2' });
  await database.redis.set(INPUT.name, 'token-1', 'PX', 30_000);
  expect(await forceRelease(TOKEN_1)).toMatchObject({ is: 'RELEASED', owner: TOKEN_1 });
  expect(await database.contents()).toEqual({});
});

test('a string that is too long for a token is a conflict and is not touched', async () => {
  await database.redis.set(INPUT.name, 'x'.repeat(1_025), 'PX', 30_000);
  expect(await forceRelease()).toEqual({ is: 'CONFLICT', found: 'a string too long for a mutex' });
  expect(await database.redis.strlen(INPUT.name)).toBe(1_025);
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
  ['a count of 16 digits', 'a hash that is not a lock', { 'session:1': '1'.repeat(16) }],
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
