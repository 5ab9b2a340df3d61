import { beforeEach, describe, expect, test } from 'vitest';
import { adminScanJobs } from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';
import { HOLDER, KEYS, OTHER, TestJob, WEEK_MS } from './job.ts';

const database = useDatabase();
const job = new TestJob(database);
beforeEach(() => job.prepare());

describe('the end of a run', () => {
  test.each([
    ['done', ''],
    ['failed', 'Error: boom'],
  ])('is recorded as %s, frees the lock and keeps the marker', async (state, text) => {
    await job.start();
    expect(await job.finish({ state, text })).toEqual({ is: 'ENDED', receivers: 0 });
    expect(await job.marker()).toMatchObject({ state, error: text, owner: HOLDER, attempt: '1' });
    expect(Number((await job.marker())['ended'])).toBeGreaterThan(0);
    expect(await database.redis.exists(KEYS.lock)).toBe(0);
    await database.expectTtl(KEYS.job, WEEK_MS + 3_600_000);
  });

  test('is told to those who listen, with one message', async () => {
    const listener = await database.listen('channel');
    await job.start();
    expect(await job.finish()).toEqual({ is: 'ENDED', receivers: 1 });
    expect(await listener.heard()).toEqual(['0']);
  });

  test('said twice is the same end', async () => {
    await job.start();
    await job.finish();
    const before = await job.marker();
    expect(await job.finish()).toEqual({ is: 'ENDED', receivers: 0 });
    expect(await job.marker()).toEqual(before);
  });

  test('is known better here than by the replica that took the run for dead', async () => {
    await job.start();
    await job.endLease();
    await job.start({ holder: OTHER });
    expect(await job.finish()).toEqual({ is: 'ENDED', receivers: 0 });
    expect(await job.marker()).toMatchObject({ state: 'done' });
  });

  test('after another attempt has begun is GONE, and leaves lock and marker of that attempt', async () => {
    await job.start({ attempts: 2 });
    await job.endLease();
    await job.start({ attempts: 2, holder: OTHER });
    const before = await database.contents();
    expect(await job.finish()).toEqual({ is: 'GONE' });
    expect(await database.contents()).toEqual(before);
  });

  test('after FLUSHALL is GONE, and writes nothing', async () => {
    await job.start();
    await database.redis.flushall();
    expect(await job.finish()).toEqual({ is: 'GONE' });
    expect(await database.contents()).toEqual({});
  });

  test('of another slot frees our lock and records nothing', async () => {
    await job.start();
    expect(await job.finish({ slotMs: job.slotMs + 1 })).toEqual({ is: 'RELEASED', receivers: 0 });
    expect(await job.marker()).toMatchObject({ state: 'running' });
  });

  test('is written also when the server has no memory left', async () => {
    await job.start();
    await database.whileOutOfMemory(async () => {
      expect(await job.finish()).toEqual({ is: 'ENDED', receivers: 0 });
    });
  });
});

test('a lost lock is freed without an end, and a repeat finds nothing', async () => {
  await job.start();
  expect(await job.finish({ state: '' })).toEqual({ is: 'RELEASED', receivers: 0 });
  expect(await job.marker()).toMatchObject({ state: 'running' });
  expect(await job.finish({ state: '' })).toEqual({ is: 'GONE' });
});

test('a failed attempt says when the next may follow', async () => {
  await job.start({ attempts: 2 });
  await job.finish({ state: 'retry', text: 'boom', retryMs: 4_000 });
  const { state, free = '', ended = '' } = await job.marker();
  expect([state, Number(free) - Number(ended)]).toEqual(['retry', 4_000]);
});

test('a start that was taken back gives its attempt back, once', async () => {
  await job.start();
  expect(await job.finish({ state: 'withdrawn', slotMs: 0, attempt: 0 })).toEqual({
    is: 'ENDED',
    receivers: 0,
  });
  expect(await job.marker()).toMatchObject({ state: 'retry', attempt: '0' });
  expect(await job.finish({ state: 'withdrawn', slotMs: 0, attempt: 0 })).toEqual({ is: 'GONE' });
  expect(await job.start({ holder: OTHER })).toMatchObject({ is: 'STARTED', attempt: 1 });
  expect(await job.finish({ state: 'withdrawn', slotMs: 0, attempt: 0 })).toEqual({ is: 'GONE' });
});

describe('reading a job', () => {
  test('tells its last run and its next slot', async () => {
    await job.start();
    await job.finish({ state: 'failed', text: 'boom' });
    expect(await job.read()).toMatchObject({
      is: 'JOB',
      slot: String(job.slotMs),
      state: 'failed',
      host: 'ann',
      text: 'boom',
      spec: 'every hour',
      next: String(job.nextMs),
    });
  });

  test('shows a run without its lock as dead', async () => {
    await job.start();
    expect(await job.read()).toMatchObject({ state: 'running' });
    await job.endLease();
    expect(await job.read()).toMatchObject({ state: 'dead' });
    expect(await job.marker()).toMatchObject({ state: 'running' });
  });

  test('finds none where there is none, or something else', async () => {
    expect(await job.read()).toMatchObject({ is: 'ABSENT' });
    await database.redis.set(KEYS.job, 'mine');
    expect(await job.read()).toMatchObject({ is: 'ABSENT' });
    await database.redis.del(KEYS.job);
    await database.redis.hset(KEYS.job, 'slot', 'soon');
    expect(await job.read()).toMatchObject({ is: 'ABSENT' });
  });
});

test('a walk over the keys finds markers of jobs, and no other hash', async () => {
  await job.start();
  await database.redis.hset('holdfast_job:{mine}', 'a', 'b');
  await database.redis.set('holdfast_job:{text}', 'mine');
  const reply = await database.run(
    adminScanJobs.call({ cursor: '0', pattern: 'holdfast_job:*', count: 100 }),
  );
  expect(adminScanJobs.decode(reply)).toEqual({ is: 'FOUND', cursor: '0', keys: [KEYS.job] });
});
