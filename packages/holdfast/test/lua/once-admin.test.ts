/** What ends a run without a word, and what looks at a once key from outside: release, peek, forget. */
import { expect, test } from 'vitest';
import { useDatabase } from './database.ts';
import { A, B, CHANNEL, DAY_MS, LOCK, OnceScripts, RECORD } from './once.ts';

const database = useDatabase();
const once = new OnceScripts(database);

test('the release of a start that nobody was told of takes the attempt back', async () => {
  const waiter = await database.listen(CHANNEL);
  await once.start();
  expect(await once.release()).toEqual({ is: 'RELEASED', receivers: 1 });
  expect(await database.redis.exists(LOCK, RECORD)).toBe(0);
  expect(await waiter.heard()).toEqual(['0']);
  expect(await once.start({ holder: B })).toMatchObject({ attempt: 1 });
  await once.finish({ holder: B, state: 'idle', reason: 'failed', payload: '{}' });
  await once.start();
  await once.release();
  expect(await once.record()).toMatchObject({ state: 'idle', owner: '', attempt: '1' });
  await database.expectTtl(RECORD, DAY_MS);
  expect(await once.start({ holder: B })).toMatchObject({ attempt: 2 });
});

test('the release of a run that may have begun frees the lock, and the run may still store', async () => {
  await once.start();
  expect(await once.release({ hasRun: 1 })).toEqual({ is: 'RELEASED', receivers: 0 });
  expect(await once.record()).toMatchObject({ state: 'running', owner: A, attempt: '1' });
  expect(await once.finish()).toMatchObject({ is: 'STORED' });
});

test('a second release, and that of another, answer gone and change nothing', async () => {
  const waiter = await database.listen(CHANNEL);
  await once.start({ holder: B });
  const before = await database.contents();
  expect(await once.release()).toEqual({ is: 'GONE' });
  expect(await database.contents()).toEqual(before);
  await once.release({ holder: B });
  await waiter.heard();
  expect(await once.release({ holder: B })).toEqual({ is: 'GONE' });
  expect(await waiter.heard()).toEqual([]);
});

test('a release that names only the lock leaves the record', async () => {
  await once.start();
  const record = await once.record();
  expect(await once.release({ record: LOCK })).toEqual({ is: 'RELEASED', receivers: 0 });
  expect(await once.record()).toEqual(record);
});

test('peek tells how far a key is, and writes nothing', async () => {
  expect(await once.peek()).toEqual({ is: 'ABSENT' });
  const { fence } = await once.start();
  const run = { is: 'FOUND', attempt: 1, fence, owner: A };
  expect(await once.peek()).toMatchObject({ ...run, state: 'running' });
  await once.expireLock();
  expect(await once.peek()).toMatchObject({ ...run, state: 'idle' });
  await once.finish({ fence, payload: 'jsecret' });
  const writes = await database.writes();
  expect(await once.peek()).toMatchObject({ ...run, state: 'done', payload: '' });
  expect(await database.writes()).toBe(writes);
});

test('forget removes what is kept, and nothing while somebody runs', async () => {
  expect(await once.forget()).toEqual({ is: 'ABSENT' });
  await once.start();
  expect(await once.forget()).toEqual({ is: 'RUNNING' });
  await once.finish();
  expect(await once.forget()).toEqual({ is: 'FORGOTTEN' });
  expect(await database.redis.exists(RECORD)).toBe(0);
  expect(await once.forget()).toEqual({ is: 'ABSENT' });
});

test('a run whose lease is over can be forgotten, and then stores nothing', async () => {
  await once.start();
  await once.expireLock();
  expect(await once.forget()).toEqual({ is: 'FORGOTTEN' });
  expect(await once.finish()).toEqual({ is: 'GONE' });
});

test('peek and forget leave what is no record', async () => {
  await database.redis.hset(RECORD, 'some', 'data');
  expect(await once.peek()).toMatchObject({ is: 'CONFLICT' });
  expect(await once.forget()).toMatchObject({ is: 'CONFLICT' });
  expect(await database.contents()).toEqual({ [RECORD]: { some: 'data' } });
});
