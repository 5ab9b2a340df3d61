import { beforeEach, describe, expect, test } from 'vitest';
import { useDatabase } from './database.ts';
import { DAY_MS, HOLDER, KEYS, OTHER, TestJob, WEEK_MS } from './job.ts';

const database = useDatabase();
const job = new TestJob(database);
beforeEach(() => job.prepare());

describe('a new slot', () => {
  test('starts: marker, lock and fence, each with its expiry', async () => {
    const started = await job.start();
    expect(started).toMatchObject({ is: 'STARTED', slotMs: job.slotMs, attempt: 1, spec: '' });
    const fence = 'fence' in started ? started.fence : 0;
    expect(await database.redis.hgetall(KEYS.lock)).toEqual({ [HOLDER]: '1' });
    expect(await database.redis.get(KEYS.fence)).toBe(String(fence));
    expect(await job.marker()).toMatchObject({
      slot: String(job.slotMs),
      state: 'running',
      attempt: '1',
      owner: HOLDER,
      fence: String(fence),
      host: 'ann',
      ended: '0',
      error: '',
      spec: 'every hour',
      next: String(job.nextMs),
    });
    await database.expectTtl(KEYS.lock, 30_000);
    await database.expectTtl(KEYS.job, WEEK_MS + 3_600_000);
  });

  test('before its time is EARLY, and nothing is written', async () => {
    const slotMs = (await database.nowMs()) + 60_000;
    expect(await job.start({ slotMs })).toMatchObject({ is: 'EARLY' });
    expect(await database.contents()).toEqual({});
  });

  test('with a newer slot due is STALE, and nothing is written', async () => {
    expect(await job.start({ nextMs: job.slotMs + 1 })).toMatchObject({ is: 'STALE' });
    expect(await database.contents()).toEqual({});
  });

  test('without a marker, for a process that never saw the time before it, is a baseline', async () => {
    expect(await job.start({ isKnown: 0 })).toMatchObject({ is: 'DONE', state: 'baseline', host: '' });
    expect(await job.marker()).toMatchObject({ slot: String(job.slotMs), state: 'baseline' });
    expect(await job.start({ isKnown: 0 })).toMatchObject({ is: 'DONE', state: 'baseline' });
  });

  test('with a baseline starts for a process that was there before it', async () => {
    await job.start({ isKnown: 0 });
    expect(await job.start({ holder: OTHER })).toMatchObject({ is: 'STARTED', attempt: 1 });
    expect(await job.start({ isKnown: 0 })).toMatchObject({ is: 'RUNNING' });
  });

  test('past its time is missed, once for all', async () => {
    const slotMs = job.slotMs - 120_000;
    await database.redis.hset(KEYS.job, { slot: slotMs - 1, state: 'done' });
    expect(await job.start({ slotMs })).toMatchObject({ is: 'DONE', state: 'missed' });
    expect(await job.start({ slotMs, lateMs: -1, holder: OTHER })).toMatchObject({
      is: 'DONE',
      state: 'missed',
    });
    expect(await database.redis.exists(KEYS.lock)).toBe(0);
  });

  test('past its time starts all the same where late is allowed', async () => {
    const slotMs = job.slotMs - 120_000;
    expect(await job.start({ slotMs, lateMs: -1 })).toMatchObject({ is: 'STARTED', slotMs });
  });

  test('with the lock of an earlier slot held is HELD', async () => {
    await job.start({ slotMs: job.slotMs - 1_000 });
    const held = await job.start({ holder: OTHER });
    expect(held).toMatchObject({ is: 'HELD', owner: HOLDER });
    expect(await job.marker()).toMatchObject({ slot: String(job.slotMs - 1_000), state: 'running' });
  });

  test('rests until the last start is long enough ago, and never for longer than that', async () => {
    const before = { slotMs: job.slotMs - 1_000, restMs: 20_000 };
    await job.start(before);
    await job.finish(before);
    const resting = await job.start({ holder: OTHER, restMs: 20_000 });
    expect(resting).toMatchObject({ is: 'RESTING' });
    expect('restMs' in resting ? resting.restMs : 0).toBeGreaterThan(15_000);
    // Written by a server whose clock was ahead by a day.
    await database.redis.hset(KEYS.job, 'free', (await database.nowMs()) + DAY_MS);
    expect(await job.start({ holder: OTHER, restMs: 20_000 })).toMatchObject({
      is: 'RESTING',
      restMs: 20_000,
    });
    expect(await job.start({ holder: OTHER })).toMatchObject({ is: 'STARTED' });
  });
});

describe('a slot that the marker has', () => {
  test.each(['done', 'failed', 'missed', 'dead'])('and that is %s never starts again', async (state) => {
    await database.redis.hset(KEYS.job, { slot: job.slotMs, state, host: 'bob', attempt: 1, spec: 's' });
    const answer = await job.start({ attempts: 9 });
    expect(answer).toMatchObject({ is: 'DONE', state, host: 'bob', spec: 's' });
    expect(await database.redis.exists(KEYS.lock, KEYS.fence)).toBe(0);
  });

  test('and that is older than the stored one is PASSED, also after the clock stepped back', async () => {
    await job.start();
    await job.finish();
    const answer = await job.start({ slotMs: job.slotMs - 1_000, nextMs: 0, holder: OTHER });
    expect(answer).toMatchObject({ is: 'PASSED', slotMs: job.slotMs });
  });

  test('and whose lock is held is RUNNING', async () => {
    await job.start();
    expect(await job.start({ holder: OTHER })).toMatchObject({
      is: 'RUNNING',
      host: 'ann',
      spec: 'every hour',
    });
  });

  test('and whose lock is gone is dead when no attempt is left', async () => {
    await job.start();
    await job.endLease();
    expect(await job.start({ holder: OTHER })).toMatchObject({ is: 'DONE', state: 'dead', host: 'ann' });
    expect(await job.marker()).toMatchObject({ state: 'dead', owner: HOLDER });
  });

  test('and whose lock is gone starts again with a larger fence while attempts are left', async () => {
    const first = await job.start({ attempts: 2 });
    await job.endLease();
    const second = await job.start({ attempts: 2, holder: OTHER });
    expect(second).toMatchObject({ is: 'STARTED', attempt: 2 });
    const fences = [first, second].map((answer) => ('fence' in answer ? answer.fence : 0));
    expect(fences[1]).toBeGreaterThan(fences[0] ?? 0);
  });

  test('and whose clock was set back does not start its next attempt early', async () => {
    const slotMs = (await database.nowMs()) + 60_000;
    await database.redis.hset(KEYS.job, { slot: slotMs, state: 'retry', attempt: 1, owner: OTHER });
    expect(await job.start({ slotMs, attempts: 2, nextMs: 0 })).toMatchObject({ is: 'EARLY' });
  });

  test('and that has failed rests before its next attempt, for half a minute at most', async () => {
    await job.start({ attempts: 2 });
    await job.finish({ state: 'retry', text: 'boom', retryMs: 5_000 });
    expect(await job.start({ attempts: 2, holder: OTHER })).toMatchObject({ is: 'RESTING' });
    await database.redis.hset(KEYS.job, 'free', (await database.nowMs()) + DAY_MS);
    const capped = { is: 'RESTING', restMs: 30_000 };
    expect(await job.start({ attempts: 2, holder: OTHER })).toMatchObject(capped);
    await database.redis.hset(KEYS.job, 'free', 0);
    expect(await job.start({ attempts: 2, holder: OTHER })).toMatchObject({ is: 'STARTED', attempt: 2 });
  });
});

describe('a second call with the same arguments', () => {
  test('is the same start, with the same numbers and a full lease', async () => {
    const first = await job.start();
    await database.redis.pexpire(KEYS.lock, 1_000);
    const second = await job.start();
    const { nowMs: _first, spec: _none, ...same } = first as typeof first & { spec: string };
    expect(second).toMatchObject(same);
    await database.expectTtl(KEYS.lock, 30_000);
  });

  test('never makes the lease shorter', async () => {
    await job.start();
    await job.start({ leaseMs: 1_000 });
    await database.expectTtl(KEYS.lock, 30_000);
  });

  test.each(['done', 'failed', 'retry'])('behind the end of the run (%s) starts nothing', async (state) => {
    await job.start({ attempts: 3 });
    await job.finish({ state });
    expect(await job.start({ attempts: 3 })).toMatchObject({ is: 'DONE', state });
    expect(await database.redis.exists(KEYS.lock)).toBe(0);
  });

  test('behind a start that was taken back starts nothing', async () => {
    await job.start();
    await job.finish({ state: 'withdrawn' });
    expect(await job.start()).toMatchObject({ is: 'DONE', state: 'retry' });
    expect(await job.start({ holder: OTHER })).toMatchObject({ is: 'STARTED', attempt: 1 });
  });
});

describe('a run outside of the schedule', () => {
  const NOW = { slotMs: 0, nextMs: 0, lateMs: -1, spec: '' };

  test('starts now, as a slot of its own, and keeps the words of the schedule', async () => {
    await job.start();
    await job.finish();
    const started = await job.start({ ...NOW, holder: OTHER });
    expect(started).toMatchObject({ is: 'STARTED', attempt: 1 });
    const slotMs = 'slotMs' in started ? started.slotMs : 0;
    expect(slotMs).toBeGreaterThan(job.slotMs);
    expect(await job.marker()).toMatchObject({
      spec: 'every hour',
      next: String(job.nextMs),
      state: 'running',
    });
    expect(await job.start({ ...NOW, holder: OTHER })).toMatchObject({ is: 'STARTED', slotMs });
  });

  test('starts also where the marker is ahead of the clock', async () => {
    const aheadMs = (await database.nowMs()) + DAY_MS;
    await database.redis.hset(KEYS.job, { slot: aheadMs, state: 'done' });
    expect(await job.start(NOW)).toMatchObject({ is: 'STARTED', slotMs: aheadMs + 1 });
  });

  test('does not start beside another run', async () => {
    await job.start();
    expect(await job.start({ ...NOW, holder: OTHER })).toMatchObject({ is: 'HELD', owner: HOLDER });
  });
});

describe('nothing is touched', () => {
  test('when the request is late', async () => {
    expect(await job.start({ notAfterMs: 1 })).toMatchObject({ is: 'LATE' });
    expect(await database.contents()).toEqual({});
  });

  test.each([
    ['marker', KEYS.job],
    ['lock', KEYS.lock],
  ])('when the %s is something else', async (_, key) => {
    await database.redis.set(key, 'mine');
    expect(await job.start()).toMatchObject({ is: 'CONFLICT', found: 'a string' });
    expect(await database.contents()).toEqual({ [key]: 'mine' });
  });
});
