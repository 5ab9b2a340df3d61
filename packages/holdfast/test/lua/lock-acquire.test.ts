import { expect, test } from 'vitest';
import { type LockAcquireInput, type LockAcquireOutcome, lockAcquire } from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

const INPUT: LockAcquireInput = {
  lock: 'order',
  fence: 'redisson_lock_token:{order}',
  line: 'holdfast_line:{order}',
  holder: 'session:1',
  leaseMs: 30_000,
  fences: 1,
  fenceTtlMs: 600_000,
  notAfterMs: 0,
  wantsTime: 1,
  commonUs: 0,
  ticket: '',
};

async function acquire(changes: Partial<LockAcquireInput> = {}): Promise<LockAcquireOutcome> {
  return lockAcquire.decode(await database.run(lockAcquire.call({ ...INPUT, ...changes })));
}

async function granted(
  changes: Partial<LockAcquireInput> = {},
): Promise<{ nowMs: number; firstFence: number; fences: number }> {
  const outcome = await acquire(changes);
  if (outcome.is !== 'GRANTED' || outcome.nowMs === undefined || outcome.fences === undefined)
    throw new Error(`expected GRANTED, got ${JSON.stringify(outcome)}`);
  return { nowMs: outcome.nowMs, firstFence: outcome.firstFence, fences: outcome.fences };
}

test('a free lock is granted with a fence made from the time', async () => {
  const before = await database.nowMs();
  const { nowMs, firstFence } = await granted();
  expect(nowMs).toBeGreaterThanOrEqual(before);
  expect(nowMs).toBeLessThanOrEqual(await database.nowMs());
  expect(Math.floor(firstFence / 1000)).toBe(nowMs);
});

test('a grant leaves the holder once and the last fence, both with their TTL, and nothing else', async () => {
  const { firstFence } = await granted();
  expect(await database.contents()).toEqual({
    [INPUT.lock]: { [INPUT.holder]: '1' },
    [INPUT.fence]: `${firstFence}`,
  });
  await database.expectTtl(INPUT.lock, INPUT.leaseMs);
  await database.expectTtl(INPUT.fence, INPUT.leaseMs + INPUT.fenceTtlMs);
});

test('a block of fences is reserved up to its last', async () => {
  const { firstFence, fences } = await granted({ fences: 65 });
  expect(fences).toBe(65);
  expect(await database.redis.get(INPUT.fence)).toBe(`${firstFence + 64}`);
});

test('a block ends at most 1 ms past the server’s time, and its length is told', async () => {
  const { firstFence, fences } = await granted({ fences: 4_001 });
  expect(fences).toBe(1_001);
  expect(await database.redis.get(INPUT.fence)).toBe(`${firstFence + 1_000}`);
});

test('blocks that follow each other at once do not run ahead of the clock', async () => {
  let last = 0;
  for (let i = 0; i < 200; i += 1) {
    const { firstFence, fences, nowMs } = await granted({ fences: 4_001, holder: `session:${i}` });
    expect(firstFence).toBeGreaterThan(last);
    last = firstFence + fences - 1;
    // The time is told in whole milliseconds.
    expect(last).toBeLessThanOrEqual((nowMs + 1) * 1_000 + 1_000);
    await database.redis.del(INPUT.lock);
  }
});

test('a block is one fence when the counter is further ahead than that, and still grows', async () => {
  const ahead = (await database.nowMs()) * 1_000 + 3_600_000_000;
  await database.redis.set(INPUT.fence, `${ahead}`);
  expect(await granted({ fences: 65 })).toMatchObject({ firstFence: ahead + 1, fences: 1 });
  await database.redis.del(INPUT.lock);
  expect(await granted({ fences: 65 })).toMatchObject({ firstFence: ahead + 2, fences: 1 });
});

test('a grant with fewer fences than asked for says so, whether or not the time is wanted', async () => {
  const reply = await database.run(lockAcquire.call({ ...INPUT, fences: 4_001, wantsTime: 0 }));
  expect(lockAcquire.decode(reply)).toMatchObject({ is: 'GRANTED', fences: 1_001 });
});

test.each([1, 65, 4_001])(
  'a repeat by the same hold, which asked for %d fences, gets the last of its own and a full lease',
  async (asked) => {
    const { firstFence, fences } = await granted({ fences: asked });
    const contents = await database.contents();
    await database.redis.pexpire(INPUT.lock, 5_000);
    const last = firstFence + fences - 1;
    expect(await granted({ fences: asked })).toMatchObject({ firstFence: last, fences: 1 });
    expect(await granted({ fences: asked })).toMatchObject({ firstFence: last, fences: 1 });
    expect(await database.contents()).toEqual(contents);
    await database.expectTtl(INPUT.lock, INPUT.leaseMs);
  },
);

test('a repeat by a hold that was entered again keeps its count', async () => {
  await granted();
  await database.redis.hset(INPUT.lock, INPUT.holder, '3');
  await granted();
  expect(await database.redis.hgetall(INPUT.lock)).toEqual({ [INPUT.holder]: '3' });
});

test('a repeat after the counter was lost gets a larger fence', async () => {
  const { firstFence } = await granted();
  await database.redis.del(INPUT.fence);
  const again = await granted();
  expect(again.firstFence).toBeGreaterThan(firstFence);
  expect(await database.redis.get(INPUT.fence)).toBe(`${again.firstFence}`);
});

test('a lock that is held is refused with its owner and the time left, and is not touched', async () => {
  await granted();
  const contents = await database.contents();
  await database.redis.pexpire(INPUT.lock, 5_000);
  const outcome = await acquire({ holder: 'session:2' });
  expect(outcome).toMatchObject({ is: 'HELD', owner: INPUT.holder });
  if (outcome.is === 'HELD') expect(outcome.ttlMs).toBeLessThanOrEqual(5_000);
  expect(await acquire({ holder: 'session:2' })).toMatchObject({ is: 'HELD', owner: INPUT.holder });
  expect(await database.contents()).toEqual(contents);
  await database.expectTtl(INPUT.lock, 5_000);
});

test('a lock without a TTL is held for an unknown time', async () => {
  const owner = '0b7c1d52-3f64-4a8e-9c05-7d1e2f3a4b5c:41';
  await database.redis.hset(INPUT.lock, owner, '1');
  expect(await acquire()).toMatchObject({ is: 'HELD', ttlMs: -1, owner });
  await database.expectNoTtl(INPUT.lock);
});

test('a hash of data with one number and no TTL is a conflict and is not touched', async () => {
  await database.redis.hset(INPUT.lock, 'visits', '12');
  expect(await acquire()).toMatchObject({ is: 'CONFLICT' });
  expect(await database.contents()).toEqual({ [INPUT.lock]: { visits: '12' } });
});

test('a grant whose time is not wanted is the first fence alone', async () => {
  const reply = await database.run(lockAcquire.call({ ...INPUT, wantsTime: 0 }));
  expect(reply).toBeTypeOf('number');
  const again = await granted();
  expect(lockAcquire.decode(reply)).toEqual({ is: 'GRANTED', firstFence: again.firstFence });
});

test('a hold whose lock has no TTL gets one', async () => {
  await database.redis.hset(INPUT.lock, INPUT.holder, '1');
  await granted();
  await database.expectTtl(INPUT.lock, INPUT.leaseMs);
});

test('a fence grows by one when the clock is behind the counter', async () => {
  const ahead = (await database.nowMs()) * 1000 + 3_600_000_000;
  await database.redis.set(INPUT.fence, `${ahead}`);
  expect((await granted()).firstFence).toBe(ahead + 1);
  expect(await database.redis.get(INPUT.fence)).toBe(`${ahead + 1}`);
});

/**
 * A grant with a time for all servers that differs by so much from the server's when the script runs, to within a few
 * milliseconds: asked again when this machine took longer.
 */
async function grantedNear(
  differsMs: number,
  counter: string | null,
  fences = 3,
): Promise<{ common: number; nowMs: number; firstFence: number }> {
  for (let tries = 1; tries <= 50; tries += 1) {
    await database.redis.flushall();
    if (counter !== null) await database.redis.set(INPUT.fence, counter);
    const askedMs = await database.nowMs();
    const common = (askedMs + differsMs) * 1_000;
    const grant = await granted({ commonUs: common, fences });
    if (grant.nowMs - askedMs <= 3) return { common, ...grant };
  }
  throw new Error('the server never ran a script within 3 ms');
}

test.each([-15, 0, 50, 95])(
  'a time for all servers is where a counter goes on from, %d ms from our own',
  async (differsMs) => {
    const { common, firstFence } = await grantedNear(differsMs, '7');
    expect(firstFence).toBe(common);
    expect(await database.redis.get(INPUT.fence)).toBe(`${common + 2}`);
  },
);

test.each([-5_000, -25, 110, 5_000])(
  'a time that is %d ms from our own is not taken for it',
  async (differsMs) => {
    const { nowMs, firstFence } = await grantedNear(differsMs, '7');
    expect(Math.floor(firstFence / 1_000)).toBe(nowMs);
  },
);

test('a block begins and ends at the same fences on all servers that are told one time', async () => {
  const { common, firstFence } = await grantedNear(50, '7', 4_001);
  expect([firstFence, await database.redis.get(INPUT.fence)]).toEqual([common, `${common + 1_000}`]);
});

test('a time for all servers never makes a fence smaller', async () => {
  const { firstFence } = await granted();
  await database.redis.del(INPUT.lock);
  expect((await granted({ commonUs: firstFence - 1_000 })).firstFence).toBeGreaterThan(firstFence);
  const ahead = (await database.nowMs()) * 1_000 + 50_000;
  await database.redis.set(INPUT.fence, `${ahead}`);
  await database.redis.del(INPUT.lock);
  // Not `ahead + 1` for certain: on a busy machine the server's own clock may have passed it by now.
  expect((await granted({ commonUs: ahead })).firstFence).toBeGreaterThan(ahead);
});

test('a counter that is lost begins again from the server’s own clock, not from a time before it', async () => {
  const { nowMs, firstFence } = await grantedNear(-5, null);
  expect(Math.floor(firstFence / 1_000)).toBe(nowMs);
});

test('a counter that is lost begins from a time for all servers when that is still to come', async () => {
  const { common, firstFence } = await grantedNear(50, null);
  expect(firstFence).toBe(common);
});

test('fences grow after everything was flushed', async () => {
  const { firstFence } = await granted({ fences: 65 });
  await database.redis.flushall();
  expect((await granted({ holder: 'session:2' })).firstFence).toBeGreaterThan(firstFence + 64);
});

test('a fence that Java has counted up is passed', async () => {
  const { firstFence } = await granted();
  await database.redis.del(INPUT.lock);
  await database.redis.incr(INPUT.fence);
  expect((await granted({ holder: 'session:2' })).firstFence).toBeGreaterThan(firstFence + 1);
});

test.each(['abc', '', 'nan', 'inf', '1.5', '0x10', '9007199254740992'])(
  'a fence counter that holds %j stops the grant before anything is written',
  async (garbage) => {
    await database.redis.set(INPUT.fence, garbage);
    await expect(acquire()).rejects.toThrow(
      /^WRONGTYPE The fence counter of this lock does not hold a number/,
    );
    expect(await database.contents()).toEqual({ [INPUT.fence]: garbage });
  },
);

test('a fence counter that is no number keeps its time to live', async () => {
  await database.redis.set(INPUT.fence, 'abc', 'PX', 60_000);
  await expect(acquire()).rejects.toThrow(/^WRONGTYPE/);
  expect(await database.redis.get(INPUT.fence)).toBe('abc');
  await database.expectTtl(INPUT.fence, 60_000);
});

test('the first fence of a name is the time, and its counter is the end of the block', async () => {
  const { firstFence, nowMs } = await granted({ fences: 3 });
  expect(Math.floor(firstFence / 1_000)).toBe(nowMs);
  expect(await database.redis.get(INPUT.fence)).toBe(`${firstFence + 2}`);
});

test('a fence counter of another type stops the grant before anything is written', async () => {
  await database.redis.rpush(INPUT.fence, 'x');
  await expect(acquire()).rejects.toThrow(/^WRONGTYPE/);
  expect(await database.contents()).toEqual({ [INPUT.fence]: ['x'] });
});

test('a request that comes too late is refused and writes nothing', async () => {
  const nowMs = await database.nowMs();
  expect(await acquire({ notAfterMs: nowMs - 1 })).toMatchObject({ is: 'LATE' });
  expect(await acquire({ notAfterMs: nowMs - 1 })).toMatchObject({ is: 'LATE' });
  expect(await database.contents()).toEqual({});
});

test('a request in time is granted', async () => {
  const notAfterMs = (await database.nowMs()) + 60_000;
  expect(await acquire({ notAfterMs })).toMatchObject({ is: 'GRANTED' });
});

test('a late repeat does not renew', async () => {
  await granted();
  await database.redis.pexpire(INPUT.lock, 5_000);
  expect(await acquire({ notAfterMs: 1 })).toMatchObject({ is: 'LATE' });
  await database.expectTtl(INPUT.lock, 5_000);
});

test.each<[what: string, found: string, fields: Record<string, string>]>([
  ['several fields', 'a hash of another kind', { 'session:1': '1', mode: 'read' }],
  ['a word for a count', 'a hash that is not a lock', { 'session:1': 'read' }],
  ['a fraction for a count', 'a hash that is not a lock', { 'session:1': '1.5' }],
  ['an empty count', 'a hash that is not a lock', { 'session:1': '' }],
])('a hash with %s is a conflict and is not touched', async (_what, found, fields) => {
  await database.redis.hset(INPUT.lock, fields);
  expect(await acquire()).toMatchObject({ is: 'CONFLICT', found });
  expect(await acquire()).toMatchObject({ is: 'CONFLICT', found });
  expect(await database.contents()).toEqual({ [INPUT.lock]: fields });
  await database.expectNoTtl(INPUT.lock);
});

test('a key of another type is a conflict and is not touched', async () => {
  await database.redis.set(INPUT.lock, 'mine');
  expect(await acquire()).toMatchObject({ is: 'CONFLICT', found: 'a string' });
  expect(await acquire()).toMatchObject({ is: 'CONFLICT', found: 'a string' });
  expect(await database.contents()).toEqual({ [INPUT.lock]: 'mine' });
});

test('a key of another type is a conflict also for a user that may not ask for types', async () => {
  await database.redis.set(INPUT.lock, 'mine');
  const reply = await database.run(lockAcquire.call(INPUT), await database.restricted('-type'));
  expect(lockAcquire.decode(reply)).toMatchObject({ is: 'CONFLICT', found: 'a value of another type' });
});

test('a user that may not read the lock is refused, and not told of a conflict', async () => {
  await granted({ holder: 'session:2' });
  const before = await database.contents();
  const restricted = await database.restricted('-hlen');
  await expect(database.run(lockAcquire.call(INPUT), restricted)).rejects.toThrow(
    /can't run this command|ACL failure|NOPERM/,
  );
  expect(await database.contents()).toEqual(before);
});

test('a server out of memory refuses before anything is written', async () => {
  await database.whileOutOfMemory(async () => {
    await expect(acquire()).rejects.toThrow(/^OOM/);
  });
  expect(await database.contents()).toEqual({});
});

test('a repeat that arrives behind one that stated more does not shorten the lease', async () => {
  await granted({ leaseMs: 30_000 });
  await granted({ leaseMs: 3_000 });
  await database.expectTtl(INPUT.lock, 30_000);
});

test.each([['-pexpire'], ['-pexpire', '-del', '-hdel', '-unlink']])(
  'a user that may not set an expiry is refused before anything is written (%s %s)',
  async (...rules) => {
    const client = await database.restricted(...rules);
    await expect(database.run(lockAcquire.call(INPUT), client)).rejects.toThrow(/^NOPERM .* PEXPIRE/);
    expect(await database.contents()).toEqual({});
  },
);
