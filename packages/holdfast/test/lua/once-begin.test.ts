import { expect, test } from 'vitest';
import { onceBegin } from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';
import { A, B, CHANNEL, DAY_MS, FAILURE_MS, FENCE, LEASE_MS, LOCK, OnceScripts, RECORD } from './once.ts';

const database = useDatabase();
const once = new OnceScripts(database);

test('the first caller starts attempt 1, and its lock, counter and record expire', async () => {
  const nowMs = await database.nowMs();
  const started = await once.begin({ print: 'p' });
  if (started.is !== 'STARTED') throw new Error(started.is);
  expect(started).toMatchObject({ is: 'STARTED', attempt: 1 });
  expect(started.firstFence).toBeGreaterThanOrEqual(nowMs * 1_000);
  const fence = String(started.firstFence);
  expect(await database.contents()).toEqual({
    [LOCK]: { [A]: '1' },
    [FENCE]: fence,
    [RECORD]: { state: 'running', owner: A, attempt: '1', fence, print: 'p', reason: '', payload: '' },
  });
  await database.expectTtl(LOCK, LEASE_MS);
  await database.expectTtl(RECORD, DAY_MS);
  await database.expectTtl(FENCE, LEASE_MS + 600_000);
});

test('a repeated begin gets the same attempt and fence, and a lease that is never shorter', async () => {
  const first = await once.begin();
  await database.redis.pexpire(LOCK, 5);
  expect(await once.begin()).toMatchObject({ ...first, nowMs: expect.any(Number) });
  await database.expectTtl(LOCK, LEASE_MS);
  expect(await once.begin({ leaseMs: 1_000 })).toMatchObject({ is: 'STARTED', attempt: 1 });
  await database.expectTtl(LOCK, LEASE_MS);
});

test('a begin that is repeated after its lease gets the same attempt, unless another has begun', async () => {
  const first = await once.start();
  await once.expireLock();
  expect(await once.start()).toEqual(first);
  await database.expectTtl(LOCK, LEASE_MS);
  await once.expireLock();
  const second = await once.start({ holder: B });
  expect(second.attempt).toBe(2);
  expect(second.fence).toBeGreaterThan(first.fence);
  expect(await once.begin()).toMatchObject({ is: 'HELD', owner: B });
});

test('another caller is told who runs, and for how long, and changes nothing', async () => {
  await once.begin();
  const before = await database.contents();
  expect(await once.begin({ holder: B })).toMatchObject({ is: 'HELD', owner: A });
  expect(await database.contents()).toEqual(before);
});

test('a stored result is answered without a write, whoever asks', async () => {
  await once.start();
  await once.finish({ payload: 'j{"a":1}' });
  const writes = await database.writes();
  expect(await once.begin({ holder: B })).toMatchObject({ is: 'DONE', attempt: 1, payload: 'j{"a":1}' });
  expect(await once.begin()).toMatchObject({ is: 'DONE', attempt: 1 });
  expect(await database.writes()).toBe(writes);
});

test('a stored failure is answered with its reason', async () => {
  await once.start();
  await once.finish({ state: 'failed', reason: 'unstorable', payload: '{}' });
  const answer = { is: 'FAILED', attempt: 1, reason: 'unstorable', payload: '{}' };
  expect(await once.begin({ holder: B })).toMatchObject(answer);
});

test('after a run that threw, the next attempt is one more, with a larger fence', async () => {
  const first = await once.start();
  await once.finish({ state: 'idle', reason: 'failed', payload: '{}' });
  const second = await once.start({ holder: B });
  expect(second.attempt).toBe(2);
  expect(second.fence).toBeGreaterThan(first.fence);
  expect(await once.record()).toMatchObject({ state: 'running', owner: B, reason: '', payload: '' });
});

test('attempts that are used up by deaths are abandoned: no owner is left in the record', async () => {
  for (const [holder, attempt] of [
    [A, 1],
    [B, 2],
  ] as const) {
    expect(await once.start({ holder, attempts: 2 })).toMatchObject({ attempt });
    await once.expireLock();
  }
  expect(await once.begin({ attempts: 2 })).toMatchObject({ is: 'FAILED', attempt: 2, reason: 'abandoned' });
  expect(await once.record()).toMatchObject({ state: 'failed', owner: '', reason: 'abandoned' });
  await database.expectTtl(RECORD, FAILURE_MS);
  // The late owner must not be told that its result is stored.
  expect(await once.finish({ holder: B, attempt: 2 })).toEqual({ is: 'GONE' });
  expect(await once.begin({ attempts: 2 })).toMatchObject({ is: 'FAILED', reason: 'abandoned' });
});

test('attempts that are used up by thrown errors keep the last error', async () => {
  await once.start();
  await once.finish({ state: 'idle', reason: 'failed', payload: '{"name":"E"}' });
  const answer = { is: 'FAILED', attempt: 1, reason: 'failed', payload: '{"name":"E"}' };
  expect(await once.begin({ holder: B, attempts: 1 })).toMatchObject(answer);
});

test('another fingerprint is refused whatever the state, and one without a fingerprint is not', async () => {
  await once.start({ print: 'p' });
  expect(await once.begin({ holder: B, print: 'q' })).toMatchObject({ is: 'MISMATCH' });
  expect(await once.begin({ holder: B })).toMatchObject({ is: 'HELD' });
  await once.finish({ print: 'p' });
  expect(await once.begin({ holder: B, print: 'q' })).toMatchObject({ is: 'MISMATCH', attempt: 1 });
  expect(await once.begin({ holder: B, print: 'p' })).toMatchObject({ is: 'DONE' });
  expect(await once.begin({ holder: B })).toMatchObject({ is: 'DONE' });
});

test('a result of a request without a fingerprint is no result of a request with one', async () => {
  await once.start();
  await once.finish();
  expect(await once.begin({ print: 'p' })).toMatchObject({ is: 'MISMATCH' });
});

test('a begin that comes too late starts nothing', async () => {
  expect(await once.begin({ notAfterMs: 1 })).toMatchObject({ is: 'LATE' });
  expect(await database.contents()).toEqual({});
});

test('a record that is lost while its lock stands: others wait, and the owner starts over', async () => {
  const first = await once.start();
  await database.redis.del(RECORD);
  expect(await once.begin({ holder: B })).toMatchObject({ is: 'HELD', owner: A });
  const again = await once.start();
  expect(again.attempt).toBe(1);
  expect(again.fence).toBeGreaterThan(first.fence);
});

test.each([
  ['the record is a string', RECORD, 'string', 'a string'],
  ['the record is a hash of somebody', RECORD, 'hash', 'a hash that is not a record'],
  ['the lock is a string', LOCK, 'string', 'a string'],
  ['the lock is a hash of somebody', LOCK, 'hash', 'a hash that is not a lock'],
])('a conflict leaves everything as it is: %s', async (_, key, type, found) => {
  if (type === 'string') await database.redis.set(key, 'x');
  else await database.redis.hset(key, 'some', 'data');
  const before = await database.contents();
  expect(await once.begin()).toMatchObject({ is: 'CONFLICT', found });
  expect(await database.contents()).toEqual(before);
});

test('a counter that is no number stops the begin before anything is written', async () => {
  await database.redis.set(FENCE, 'x');
  await expect(once.begin()).rejects.toThrow('WRONGTYPE');
  expect(await database.contents()).toEqual({ [FENCE]: 'x' });
});

test('out of memory no run begins', async () => {
  await database.load(onceBegin.text);
  await database.whileOutOfMemory(async () => {
    await expect(once.begin()).rejects.toThrow('OOM');
  });
  expect(await database.contents()).toEqual({});
});

test('those who wait hear of nothing but an end', async () => {
  const waiter = await database.listen(CHANNEL);
  await once.start();
  await once.begin({ holder: B });
  expect(await waiter.heard()).toEqual([]);
});
