import { expect, test } from 'vitest';
import { type LockReleaseInput, type LockReleaseOutcome, lockRelease } from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

const INPUT: LockReleaseInput = {
  lock: 'order',
  fence: 'redisson_lock_token:{order}',
  line: 'holdfast_line:{order}',
  holder: 'session:1',
  channel: 'redisson_lock__channel:{order}',
  mode: 'plain',
  isVote: 0,
};

async function release(changes: Partial<LockReleaseInput> = {}): Promise<LockReleaseOutcome> {
  return lockRelease.decode(await database.run(lockRelease.call({ ...INPUT, ...changes })));
}

async function hold(count = '1'): Promise<void> {
  await database.redis.hset(INPUT.lock, INPUT.holder, count);
  await database.redis.pexpire(INPUT.lock, 30_000);
}

test('a release deletes the lock and nothing else, whatever its count', async () => {
  await hold('3');
  await database.redis.set('other', 'kept');
  expect(await release()).toEqual({ is: 'RELEASED', receivers: 0 });
  expect(await database.contents()).toEqual({ other: 'kept' });
});

test('a release wakes the waiters with one message and counts them', async () => {
  const first = await database.listen(INPUT.channel);
  const second = await database.listen(INPUT.channel);
  await hold();
  expect(await release()).toEqual({ is: 'RELEASED', receivers: 2 });
  expect(await first.heard()).toEqual(['0']);
  expect(await second.heard()).toEqual(['0']);
});

test('a field of somebody else stays, with the time it has left, and the waiters hear of it', async () => {
  const waiter = await database.listen(INPUT.channel);
  await hold();
  await database.redis.hset(INPUT.lock, 'mode', 'read');
  expect(await release()).toEqual({ is: 'RELEASED', receivers: 1 });
  expect(await database.contents()).toEqual({ [INPUT.lock]: { mode: 'read' } });
  await database.expectTtl(INPUT.lock, 30_000);
  expect(await waiter.heard()).toEqual(['0']);
  expect(await release()).toEqual({ is: 'GONE' });
  expect(await database.contents()).toEqual({ [INPUT.lock]: { mode: 'read' } });
});

test('a user who may delete no keys still releases', async () => {
  await hold();
  const user = await database.restricted('-del', '-unlink');
  expect(lockRelease.decode(await database.run(lockRelease.call(INPUT), user))).toMatchObject({
    is: 'RELEASED',
  });
  expect(await database.contents()).toEqual({});
});

test('a second release answers gone and wakes nobody', async () => {
  const waiter = await database.listen(INPUT.channel);
  await hold();
  await release();
  await waiter.heard();
  expect(await release()).toEqual({ is: 'GONE' });
  expect(await waiter.heard()).toEqual([]);
});

test('a lock of somebody else is not touched and nobody is woken', async () => {
  const waiter = await database.listen(INPUT.channel);
  await hold();
  expect(await release({ holder: 'session:2' })).toEqual({ is: 'GONE' });
  expect(await database.contents()).toEqual({ [INPUT.lock]: { [INPUT.holder]: '1' } });
  await database.expectTtl(INPUT.lock, 30_000);
  expect(await waiter.heard()).toEqual([]);
});

test('a lock that is absent is gone and stays absent', async () => {
  expect(await release()).toEqual({ is: 'GONE' });
  expect(await database.contents()).toEqual({});
});

test('a lock without a TTL is released', async () => {
  await database.redis.hset(INPUT.lock, INPUT.holder, '1');
  expect(await release()).toEqual({ is: 'RELEASED', receivers: 0 });
  expect(await database.contents()).toEqual({});
});

test('a key of another type is an error and is not touched', async () => {
  await database.redis.set(INPUT.lock, 'mine');
  await expect(release()).rejects.toThrow(/^WRONGTYPE/);
  expect(await database.contents()).toEqual({ [INPUT.lock]: 'mine' });
});

test('a server out of memory still releases', async () => {
  await hold();
  await database.whileOutOfMemory(async () => {
    expect(await release()).toEqual({ is: 'RELEASED', receivers: 0 });
  });
  expect(await database.contents()).toEqual({});
});

test('a user who may not publish still releases', async () => {
  await hold();
  const user = await database.restricted('resetchannels');
  expect(lockRelease.decode(await database.run(lockRelease.call(INPUT), user))).toEqual({
    is: 'RELEASED',
    receivers: 0,
  });
  expect(await database.contents()).toEqual({});
});

test.each([
  ['nobody', [], [], 0],
  ['plain', ['0'], [], 1],
  ['sharded', [], ['0'], 1],
  ['both', ['0'], ['0'], 1],
] as const)('a release that tells %s is heard by those alone', async (mode, plain, sharded, receivers) => {
  const plainWaiter = await database.listen(INPUT.channel);
  const shardedWaiter = await database.listen(INPUT.channel, 'sharded');
  await hold();
  expect(await release({ mode })).toEqual({ is: 'RELEASED', receivers });
  expect(await plainWaiter.heard()).toEqual(plain);
  expect(await shardedWaiter.heard()).toEqual(sharded);
});

test('a release that tells both counts the larger crowd, because the same may listen both ways', async () => {
  await database.listen(INPUT.channel);
  await database.listen(INPUT.channel, 'sharded');
  await database.listen(INPUT.channel, 'sharded');
  await hold();
  expect(await release({ mode: 'both' })).toEqual({ is: 'RELEASED', receivers: 2 });
});
