import { expect, test } from 'vitest';
import {
  type MutexReleaseInput,
  type MutexReleaseOutcome,
  mutexRelease,
} from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

const INPUT: MutexReleaseInput = {
  mutex: 'report',
  line: 'holdfast_line:{report}',
  token: 'token-1',
  channel: 'holdfast_mutex__channel:{report}',
  mode: 'plain',
  isVote: 0,
};

async function release(changes: Partial<MutexReleaseInput> = {}): Promise<MutexReleaseOutcome> {
  return mutexRelease.decode(await database.run(mutexRelease.call({ ...INPUT, ...changes })));
}

async function hold(): Promise<void> {
  await database.redis.set(INPUT.mutex, INPUT.token, 'PX', 30_000);
}

test('a release deletes the mutex and nothing else', async () => {
  await hold();
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

test('a second release answers gone and wakes nobody', async () => {
  const waiter = await database.listen(INPUT.channel);
  await hold();
  await release();
  await waiter.heard();
  expect(await release()).toEqual({ is: 'GONE' });
  expect(await waiter.heard()).toEqual([]);
});

test('a mutex of somebody else is not touched and nobody is woken', async () => {
  const waiter = await database.listen(INPUT.channel);
  await hold();
  expect(await release({ token: 'token-2' })).toEqual({ is: 'GONE' });
  expect(await database.contents()).toEqual({ [INPUT.mutex]: INPUT.token });
  await database.expectTtl(INPUT.mutex, 30_000);
  expect(await waiter.heard()).toEqual([]);
});

test('a mutex that is absent is gone and stays absent', async () => {
  expect(await release()).toEqual({ is: 'GONE' });
  expect(await database.contents()).toEqual({});
});

test('a key of another type is an error and is not touched', async () => {
  await database.redis.hset(INPUT.mutex, 'session:1', '1');
  await expect(release()).rejects.toThrow(/^WRONGTYPE/);
  expect(await database.contents()).toEqual({ [INPUT.mutex]: { 'session:1': '1' } });
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
  expect(mutexRelease.decode(await database.run(mutexRelease.call(INPUT), user))).toEqual({
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
