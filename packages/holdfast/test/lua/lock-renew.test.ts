import { expect, test } from 'vitest';
import { type LockRenewItem, type LockRenewOutcome, lockRenew } from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

/** What a renewal does to the counter of fences is tested in fence-counter.test.ts; here there is none to state. */
const NO_COUNTER = { lastFence: 0, fenceTtlMs: 600_000 };

const ITEM: LockRenewItem = {
  ...NO_COUNTER,
  lock: 'order',
  fence: 'redisson_lock_token:{order}',
  holder: 'session:1',
  leaseMs: 30_000,
};

async function renew(...items: LockRenewItem[]): Promise<LockRenewOutcome[]> {
  return lockRenew.decode(await database.run(lockRenew.call(items)), items.length);
}

async function hold(item: LockRenewItem, count = '1'): Promise<void> {
  await database.redis.hset(item.lock, item.holder, count);
  await database.redis.pexpire(item.lock, 5_000);
}

test('a hold gets its full lease and keeps its count', async () => {
  await hold(ITEM, '3');
  expect(await renew(ITEM)).toEqual(['RENEWED']);
  await database.expectTtl(ITEM.lock, 30_000);
  expect(await database.contents()).toEqual({ [ITEM.lock]: { [ITEM.holder]: '3' } });
});

test('a second renewal leaves the same lease', async () => {
  await hold(ITEM);
  expect(await renew(ITEM)).toEqual(['RENEWED']);
  expect(await renew(ITEM)).toEqual(['RENEWED']);
  await database.expectTtl(ITEM.lock, 30_000);
});

test('a lease is never made shorter, because a request may arrive behind one that stated more', async () => {
  await hold(ITEM);
  await database.redis.pexpire(ITEM.lock, 60_000);
  expect(await renew({ ...ITEM, leaseMs: 3_000 })).toEqual(['RENEWED']);
  await database.expectTtl(ITEM.lock, 60_000);
});

test('a lock that has lost its expiry gets one again', async () => {
  await hold(ITEM);
  await database.redis.persist(ITEM.lock);
  expect(await renew(ITEM)).toEqual(['RENEWED']);
  await database.expectTtl(ITEM.lock, ITEM.leaseMs);
});

test('a lock that is absent is gone and is not created', async () => {
  expect(await renew(ITEM)).toEqual(['GONE']);
  expect(await renew(ITEM)).toEqual(['GONE']);
  expect(await database.contents()).toEqual({});
});

test('a lock of somebody else is gone and is not touched', async () => {
  await hold(ITEM);
  expect(await renew({ ...ITEM, holder: 'session:2' })).toEqual(['GONE']);
  await database.expectTtl(ITEM.lock, 5_000);
  expect(await database.contents()).toEqual({ [ITEM.lock]: { [ITEM.holder]: '1' } });
});

test('a lock without a TTL gets one', async () => {
  await database.redis.hset(ITEM.lock, ITEM.holder, '1');
  expect(await renew(ITEM)).toEqual(['RENEWED']);
  await database.expectTtl(ITEM.lock, 30_000);
});

test('each hold of a batch gets its own outcome and its own lease', async () => {
  const items = ['a', 'b', 'c', 'd'].map((lock, i) => ({
    ...NO_COUNTER,
    lock,
    fence: `redisson_lock_token:{${lock}}`,
    holder: `session:${i}`,
    leaseMs: 10_000 * (i + 1),
  }));
  const [a, b, c, d] = items as [LockRenewItem, LockRenewItem, LockRenewItem, LockRenewItem];
  await hold(a);
  await database.redis.set(b.lock, 'mine');
  await hold({ ...c, holder: 'somebody:1' });
  await hold(d);
  expect(await renew(a, b, c, d)).toEqual(['RENEWED', 'GONE', 'GONE', 'RENEWED']);
  await database.expectTtl(a.lock, 10_000);
  await database.expectNoTtl(b.lock);
  await database.expectTtl(c.lock, 5_000);
  await database.expectTtl(d.lock, 40_000);
  expect(await database.redis.get(b.lock)).toBe('mine');
});

test('every renewal is a write, because replicas are counted by it', async () => {
  await hold(ITEM);
  for (const leaseMs of [30_000, 30_000, 3_000]) {
    const before = await database.writes();
    expect(await renew({ ...ITEM, leaseMs })).toEqual(['RENEWED']);
    expect(await database.writes()).toBeGreaterThan(before);
  }
  await database.expectTtl(ITEM.lock, 30_000);
});

test('an empty batch does nothing', async () => {
  expect(await renew()).toEqual([]);
});

test('an error on one hold fails that hold alone', async () => {
  await hold(ITEM);
  const user = await database.restricted('-hexists');
  const reply = await database.run(lockRenew.call([ITEM, ITEM]), user);
  expect(lockRenew.decode(reply, 2)).toEqual(['FAILED', 'FAILED']);
  await database.expectTtl(ITEM.lock, 5_000);
});

test('a lease that cannot be set fails its hold alone', async () => {
  const other = { ...ITEM, lock: 'other' };
  await hold(ITEM);
  await hold(other);
  expect(await renew({ ...ITEM, leaseMs: 9.3e18 }, other)).toEqual(['FAILED', 'RENEWED']);
  await database.expectTtl(ITEM.lock, 5_000);
  await database.expectTtl(other.lock, 30_000);
});

test('a server out of memory still renews', async () => {
  await hold(ITEM);
  await database.whileOutOfMemory(async () => {
    expect(await renew(ITEM)).toEqual(['RENEWED']);
  });
  await database.expectTtl(ITEM.lock, 30_000);
});

/** Where an operator's words for that hold stand. */
function left({ lock, holder }: LockRenewItem): string {
  return `holdfast_revoked:{${lock}}:${holder}`;
}

async function leave(item: LockRenewItem, words: string): Promise<void> {
  await database.redis.set(left(item), words, 'PX', 5_000);
}

test('a hold that was taken away by force is gone with the words that were left for it, again and again', async () => {
  await leave(ITEM, 'revoked stuck\u0000 since %s noon');
  const revoked = [{ is: 'REVOKED', words: 'stuck\u0000 since %s noon' }];
  expect(await renew(ITEM)).toEqual(revoked);
  expect(await renew(ITEM)).toEqual(revoked);
  await database.expectTtl(left(ITEM), 5_000);
  expect(await database.contents()).toEqual({ [left(ITEM)]: 'revoked stuck\u0000 since %s noon' });
});

test('words for one holder are none for another of the same name, nor for one that has its lock', async () => {
  const next = { ...ITEM, holder: 'session:2' };
  await leave(ITEM, 'revoked stuck');
  expect(await renew(next)).toEqual(['GONE']);
  await hold(next);
  expect(await renew(next)).toEqual(['RENEWED']);
  expect(await renew(ITEM)).toEqual([{ is: 'REVOKED', words: 'stuck' }]);
  await leave(next, 'revoked by mistake');
  expect(await renew(next)).toEqual(['RENEWED']);
});

test('each hold of a batch gets its own words', async () => {
  const items = ['a', 'b', 'of:{c}', 'd'].map((lock, i) => ({
    ...ITEM,
    lock,
    fence: lock,
    holder: `session:${i}`,
  }));
  const [a, b, c] = items as [LockRenewItem, LockRenewItem, LockRenewItem];
  await leave(a, 'revoked first');
  await hold(b);
  await database.redis.set(`holdfast_revoked:${c.lock}:${c.holder}`, 'revoked third', 'PX', 5_000);
  expect(await renew(...items)).toEqual([
    { is: 'REVOKED', words: 'first' },
    'RENEWED',
    { is: 'REVOKED', words: 'third' },
    'GONE',
  ]);
});

test.each([
  ['what nobody of ours has written', 'stuck'],
  ['more than anybody may say', `revoked ${'x'.repeat(2_041)}`],
])('%s is no word of an operator', async (_what, text) => {
  await leave(ITEM, text);
  expect(await renew(ITEM)).toEqual(['GONE']);
});

test('words under a key of another type are none', async () => {
  await database.redis.rpush(left(ITEM), 'revoked stuck');
  expect(await renew(ITEM)).toEqual(['GONE']);
});

test('a user who may not read the words is told of the loss all the same', async () => {
  await leave(ITEM, 'revoked stuck');
  const kept = { ...ITEM, lock: 'other' };
  await hold(kept);
  const user = await database.restricted('resetkeys', '~order', '~other', '~redisson_*');
  const reply = await database.run(lockRenew.call([ITEM, kept]), user);
  expect(lockRenew.decode(reply, 2)).toEqual(['GONE', 'RENEWED']);
});

test('a renewal that keeps its lock does not look for words', async () => {
  await hold(ITEM);
  const reads = async (): Promise<string | undefined> =>
    /cmdstat_get:calls=(\d+)/.exec(await database.redis.info('commandstats'))?.[1];
  await database.redis.config('RESETSTAT');
  expect(await renew(ITEM)).toEqual(['RENEWED']);
  // The counter of its fences.
  expect(await reads()).toBe('1');
  expect(await renew({ ...ITEM, holder: 'session:2' })).toEqual(['GONE']);
  expect(await reads()).toBe('2');
});
