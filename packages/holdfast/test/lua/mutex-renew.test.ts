import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { type MutexRenewItem, type MutexRenewOutcome, mutexRenew } from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

const ITEM: MutexRenewItem = { mutex: 'report', token: 'token-1', leaseMs: 30_000 };

async function renew(...items: MutexRenewItem[]): Promise<MutexRenewOutcome[]> {
  return mutexRenew.decode(await database.run(mutexRenew.call(items)), items.length);
}

async function hold(item: MutexRenewItem): Promise<void> {
  await database.redis.set(item.mutex, item.token, 'PX', 5_000);
}

test('a mutex gets its full lease and keeps its token', async () => {
  await hold(ITEM);
  expect(await renew(ITEM)).toEqual(['RENEWED']);
  await database.expectTtl(ITEM.mutex, 30_000);
  expect(await database.contents()).toEqual({ [ITEM.mutex]: ITEM.token });
});

test('a second renewal leaves the same lease', async () => {
  await hold(ITEM);
  expect(await renew(ITEM)).toEqual(['RENEWED']);
  expect(await renew(ITEM)).toEqual(['RENEWED']);
  await database.expectTtl(ITEM.mutex, 30_000);
});

test('a mutex that is absent is gone and is not created', async () => {
  expect(await renew(ITEM)).toEqual(['GONE']);
  expect(await renew(ITEM)).toEqual(['GONE']);
  expect(await database.contents()).toEqual({});
});

test('a mutex of somebody else is gone and is not touched', async () => {
  await hold(ITEM);
  expect(await renew({ ...ITEM, token: 'token-2' })).toEqual(['GONE']);
  await database.expectTtl(ITEM.mutex, 5_000);
  expect(await database.contents()).toEqual({ [ITEM.mutex]: ITEM.token });
});

test('a token of ours without a TTL gets one', async () => {
  await database.redis.set(ITEM.mutex, ITEM.token);
  expect(await renew(ITEM)).toEqual(['RENEWED']);
  await database.expectTtl(ITEM.mutex, 30_000);
});

test('a lease is never made shorter, because a request may arrive behind one that stated more', async () => {
  await hold(ITEM);
  expect(await renew({ ...ITEM, leaseMs: 3_000 })).toEqual(['RENEWED']);
  await database.expectTtl(ITEM.mutex, 5_000);
});

test('each mutex of a batch gets its own outcome and its own lease', async () => {
  const items = ['a', 'b', 'c', 'd'].map((mutex, i) => ({
    mutex,
    token: `token-${i}`,
    leaseMs: 10_000 * (i + 1),
  }));
  const [a, b, c, d] = items as [MutexRenewItem, MutexRenewItem, MutexRenewItem, MutexRenewItem];
  await hold(a);
  await database.redis.hset(b.mutex, 'session:1', '1');
  await hold({ ...c, token: 'somebody' });
  await hold(d);
  expect(await renew(a, b, c, d)).toEqual(['RENEWED', 'GONE', 'GONE', 'RENEWED']);
  await database.expectTtl(a.mutex, 10_000);
  await database.expectNoTtl(b.mutex);
  await database.expectTtl(c.mutex, 5_000);
  await database.expectTtl(d.mutex, 40_000);
  expect(await database.redis.hgetall(b.mutex)).toEqual({ 'session:1': '1' });
});

test('every renewal is a write, because replicas are counted by it', async () => {
  await hold(ITEM);
  for (const leaseMs of [30_000, 30_000, 3_000]) {
    const before = await database.writes();
    expect(await renew({ ...ITEM, leaseMs })).toEqual(['RENEWED']);
    expect(await database.writes()).toBeGreaterThan(before);
  }
  await database.expectTtl(ITEM.mutex, 30_000);
});

test('an empty batch does nothing', async () => {
  expect(await renew()).toEqual([]);
});

test('an error on one mutex fails that mutex alone', async () => {
  await hold(ITEM);
  const user = await database.restricted('-get');
  const reply = await database.run(mutexRenew.call([ITEM, ITEM]), user);
  expect(mutexRenew.decode(reply, 2)).toEqual(['FAILED', 'FAILED']);
  await database.expectTtl(ITEM.mutex, 5_000);
});

test('a lease that cannot be set fails its mutex alone', async () => {
  const other = { ...ITEM, mutex: 'other' };
  await hold(ITEM);
  await hold(other);
  expect(await renew({ ...ITEM, leaseMs: 9.3e18 }, other)).toEqual(['FAILED', 'RENEWED']);
  await database.expectTtl(ITEM.mutex, 5_000);
  await database.expectTtl(other.mutex, 30_000);
});

test('a server out of memory still renews', async () => {
  await hold(ITEM);
  await database.whileOutOfMemory(async () => {
    expect(await renew(ITEM)).toEqual(['RENEWED']);
  });
  await database.expectTtl(ITEM.mutex, 30_000);
});

/** Where an operator's words for that owner stand: under its digest, because its token is a secret. */
function left({ mutex, token }: MutexRenewItem): string {
  return `holdfast_revoked:{${mutex}}:${createHash('sha1').update(token).digest('hex')}`;
}

test('each mutex that was taken away by force is gone with the words that were left for its owner', async () => {
  const items = ['a', 'b', 'c'].map((mutex, i) => ({ ...ITEM, mutex, token: `token-${i}` }));
  const [a, b] = items as [MutexRenewItem, MutexRenewItem];
  await database.redis.set(left(a), 'revoked stuck\u0000 since %s noon', 'PX', 5_000);
  await hold(b);
  const answers = [{ is: 'REVOKED', words: 'stuck\u0000 since %s noon' }, 'RENEWED', 'GONE'];
  expect(await renew(...items)).toEqual(answers);
  expect(await renew(...items)).toEqual(answers);
  await database.expectTtl(left(a), 5_000);
});

test('words for one owner of a mutex are none for the next, nor for one that has it', async () => {
  const next = { ...ITEM, token: 'token-2' };
  await database.redis.set(left(ITEM), 'revoked stuck', 'PX', 5_000);
  expect(await renew(next)).toEqual(['GONE']);
  await hold(next);
  await database.redis.set(left(next), 'revoked by mistake', 'PX', 5_000);
  expect(await renew(next, ITEM)).toEqual(['RENEWED', { is: 'REVOKED', words: 'stuck' }]);
});

test('a user who may not read the words of a mutex is told of the loss all the same', async () => {
  await database.redis.set(left(ITEM), 'revoked stuck', 'PX', 5_000);
  const user = await database.restricted('resetkeys', '~report');
  expect(mutexRenew.decode(await database.run(mutexRenew.call([ITEM]), user), 1)).toEqual(['GONE']);
});
