import { expect, test } from 'vitest';
import { onceFinish } from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';
import { A, B, CHANNEL, DAY_MS, LOCK, OnceScripts, RECORD } from './once.ts';

const database = useDatabase();
const once = new OnceScripts(database);

test('a finish stores the result, frees the lock and tells those who wait', async () => {
  const waiter = await database.listen(CHANNEL);
  const { fence } = await once.start({ print: 'p' });
  expect(await once.finish({ fence, print: 'p', keepMs: 5_000 })).toEqual({ is: 'STORED', receivers: 1 });
  expect(await once.record()).toEqual({
    ...{ state: 'done', owner: A, attempt: '1', fence: String(fence), print: 'p', reason: '', payload: 'j1' },
  });
  expect(await database.redis.exists(LOCK)).toBe(0);
  await database.expectTtl(RECORD, 5_000);
  expect(await waiter.heard()).toEqual(['0']);
});

test.each(['done', 'failed', 'idle'])(
  'a repeated finish to %s answers the same and writes nothing',
  async (state) => {
    await once.start();
    await once.finish({ state });
    const waiter = await database.listen(CHANNEL);
    const writes = await database.writes();
    expect(await once.finish({ state, payload: 'j2' })).toEqual({ is: 'STORED', receivers: 0 });
    expect(await once.record()).toMatchObject({ state, payload: 'j1' });
    expect(await database.writes()).toBe(writes);
    expect(await waiter.heard()).toEqual([]);
  },
);

test('a late owner that nobody replaced stores normally', async () => {
  await once.start();
  await once.expireLock();
  expect(await once.finish()).toMatchObject({ is: 'STORED' });
  expect(await once.begin({ holder: B })).toMatchObject({ is: 'DONE', payload: 'j1' });
});

test('a late owner that was replaced stores nothing, before and after its successor has', async () => {
  await once.start();
  await once.expireLock();
  await once.start({ holder: B });
  const before = await database.contents();
  expect(await once.finish()).toEqual({ is: 'GONE' });
  expect(await database.contents()).toEqual(before);
  expect(await once.finish({ holder: B, attempt: 2, payload: 'j2' })).toMatchObject({ is: 'STORED' });
  expect(await once.finish()).toEqual({ is: 'GONE' });
  expect(await once.begin()).toMatchObject({ is: 'DONE', payload: 'j2' });
});

test('after everything was flushed a finish answers gone and writes nothing', async () => {
  await once.start();
  await database.redis.flushall();
  expect(await once.finish()).toEqual({ is: 'GONE' });
  expect(await database.contents()).toEqual({});
});

test('a record that expired under a run is written anew, because the lock is ours', async () => {
  const { fence } = await once.start();
  await database.redis.del(RECORD);
  expect(await once.finish({ fence })).toMatchObject({ is: 'STORED' });
  expect(await once.begin({ holder: B })).toMatchObject({ is: 'DONE', attempt: 1 });
  await database.expectTtl(RECORD, DAY_MS);
});

test('a finish leaves the lock of somebody else', async () => {
  await once.start();
  await database.redis.del(LOCK);
  await database.redis.hset(LOCK, B, '1');
  expect(await once.finish()).toMatchObject({ is: 'STORED' });
  expect(await database.redis.hgetall(LOCK)).toEqual({ [B]: '1' });
});

test('a record of another type is a conflict', async () => {
  await database.redis.set(RECORD, 'x');
  expect(await once.finish()).toEqual({ is: 'CONFLICT', found: 'a string' });
  expect(await database.contents()).toEqual({ [RECORD]: 'x' });
});

test('a result is stored although the server is out of memory: the work was done', async () => {
  await once.start();
  await database.load(onceFinish.text);
  await database.whileOutOfMemory(async () => {
    expect(await once.finish()).toMatchObject({ is: 'STORED' });
  });
});

test('a user who may delete no keys finishes all the same', async () => {
  await once.start();
  const user = await database.restricted('-del', '-unlink');
  const call = onceFinish.call({
    ...{ lock: LOCK, record: RECORD, holder: A, attempt: 1, fence: 7, print: '', state: 'done' },
    ...{ reason: '', payload: 'j1', keepMs: DAY_MS, channel: CHANNEL, mode: 'plain' },
  });
  expect(onceFinish.decode(await database.run(call, user))).toMatchObject({ is: 'STORED' });
});
