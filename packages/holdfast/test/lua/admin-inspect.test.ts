import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  type AdminInspectInput,
  type AdminInspectOutcome,
  adminInspect,
} from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';
import { plantLine } from './planted-line.ts';

const database = useDatabase();

const INPUT: AdminInspectInput = {
  name: 'order',
  fence: 'redisson_lock_token:{order}',
  line: 'holdfast_line:{order}',
  lockChannel: 'lock-channel',
  mutexChannel: 'mutex-channel',
  mode: 'plain',
  shownMax: 100,
};

/** A session of ours. */
function session(number: number): string {
  return `0000000${number}-0000-8000-8000-000000000000`;
}

async function inspect(input: Partial<AdminInspectInput> = {}): Promise<AdminInspectOutcome> {
  return adminInspect.decode(await database.run(adminInspect.call({ ...INPUT, ...input })));
}

async function holdLock(): Promise<void> {
  await database.redis.hset(INPUT.name, 'session:1', '3');
  await database.redis.pexpire(INPUT.name, 30_000);
}

test('a name without a key is absent', async () => {
  await database.redis.set(INPUT.fence, '7');
  expect(await inspect()).toEqual({ is: 'ABSENT' });
});

test('a lock is told with owner, count, time left, fence and listeners', async () => {
  await database.listen(INPUT.lockChannel);
  await holdLock();
  await database.redis.set(INPUT.fence, '1794779870503000');
  const outcome = await inspect();
  expect(outcome).toMatchObject({
    is: 'LOCK',
    owner: 'session:1',
    count: '3',
    fence: '1794779870503000',
    listeners: 1,
  });
  if (outcome.is === 'LOCK') expect(outcome.ttlMs).toBeGreaterThan(28_000);
});

test('a lock without a TTL or a fence is told as it is', async () => {
  const owner = '0b7c1d52-3f64-4a8e-9c05-7d1e2f3a4b5c:41';
  await database.redis.hset(INPUT.name, owner, '1');
  const [tickets, listeners, line] = [0, 0, ''];
  expect(await inspect()).toEqual({
    is: 'LOCK',
    owner,
    count: '1',
    ttlMs: -1,
    fence: '',
    tickets,
    listeners,
    line,
    mayLinger: 0,
  });
});

test('a fence counter of another type does not hide the lock', async () => {
  await holdLock();
  await database.redis.rpush(INPUT.fence, 'x');
  expect(await inspect()).toMatchObject({ is: 'LOCK', fence: '' });
});

test('a mutex is told with a digest of its token, time left and listeners', async () => {
  await database.listen(INPUT.mutexChannel);
  await database.redis.set(INPUT.name, 'token-1', 'PX', 30_000);
  const outcome = await inspect();
  const owner = createHash('sha1').update('token-1').digest('hex');
  expect(outcome).toMatchObject({ is: 'MUTEX', owner, listeners: 1 });
  if (outcome.is === 'MUTEX') expect(outcome.ttlMs).toBeGreaterThan(28_000);
});

test('a string that is too long for a token is told by its type', async () => {
  await database.redis.set(INPUT.name, 'x'.repeat(1_024), 'PX', 30_000);
  expect(await inspect()).toMatchObject({ is: 'MUTEX' });
  await database.redis.set(INPUT.name, 'x'.repeat(1_025), 'PX', 30_000);
  expect(await inspect()).toMatchObject({ is: 'OTHER', found: 'string' });
});

test.each(['x', '1'.repeat(17)])('a fence counter that holds %j is not told', async (garbage) => {
  await holdLock();
  await database.redis.set(INPUT.fence, garbage);
  expect(await inspect()).toMatchObject({ is: 'LOCK', fence: '' });
});

test('a hash of another kind is told by its type', async () => {
  await database.redis.hset(INPUT.name, { 'session:1': '1', mode: 'read' });
  expect(await inspect()).toEqual({ is: 'OTHER', found: 'hash', ttlMs: -1 });
  await database.redis.del(INPUT.name);
  await database.redis.hset(INPUT.name, { 'session:1': 'read' });
  expect(await inspect()).toEqual({ is: 'OTHER', found: 'hash', ttlMs: -1 });
});

test('a key of another type is told by its type', async () => {
  await database.redis.rpush(INPUT.name, 'x');
  await database.redis.pexpire(INPUT.name, 30_000);
  const outcome = await inspect();
  expect(outcome).toMatchObject({ is: 'OTHER', found: 'list' });
  if (outcome.is === 'OTHER') expect(outcome.ttlMs).toBeGreaterThan(28_000);
});

test('looking twice changes nothing', async () => {
  await holdLock();
  const contents = await database.contents();
  expect(await inspect()).toMatchObject({ is: 'LOCK' });
  expect(await inspect()).toMatchObject({ is: 'LOCK' });
  expect(await database.contents()).toEqual(contents);
  await database.expectTtl(INPUT.name, 30_000);
});

test.each(['session:1', 'session:2'])(
  'of owner session:1 and keeper %s is told who may linger',
  async (keeper) => {
    const [lock, mutex] = [INPUT, { ...INPUT, name: 'mutex' }];
    await holdLock();
    await database.redis.set(mutex.name, 'session:1', 'PX', 30_000);
    const empty = { first: 1, last: 0, open: 0, window: 0, run: 0, since: 0, guest: 0 };
    await database.redis.hset(INPUT.line, {
      ...empty,
      linger: `${keeper} 1.1.0 p holdfast_session:session`,
    });
    const mayLinger = keeper === 'session:1' ? 1 : 0;
    expect([await inspect(lock), await inspect(mutex)]).toMatchObject([
      { is: 'LOCK', mayLinger },
      { is: 'MUTEX', mayLinger },
    ]);
  },
);

test('a server out of memory can be looked at', async () => {
  await holdLock();
  await database.whileOutOfMemory(async () => {
    expect(await inspect()).toMatchObject({ is: 'LOCK' });
  });
});

test('a user who may not count subscribers sees no listeners', async () => {
  await holdLock();
  const user = await database.restricted('-pubsub');
  expect(adminInspect.decode(await database.run(adminInspect.call(INPUT), user))).toMatchObject({
    is: 'LOCK',
    listeners: 0,
  });
});

test.each([
  ['plain', 2],
  ['sharded', 1],
  ['both', 2],
] as const)('those that listen %s are counted, once each', async (mode, listeners) => {
  await database.listen(INPUT.lockChannel);
  await database.listen(INPUT.lockChannel);
  await database.listen(INPUT.lockChannel, 'sharded');
  await holdLock();
  const reply = await database.run(adminInspect.call({ ...INPUT, mode }));
  expect(adminInspect.decode(reply)).toMatchObject({ is: 'LOCK', listeners });
});

test('the line is told in its order, with sessions, the time waited, and who hears; never a holder', async () => {
  await database.listen(`holdfast_session:${session(1)}`);
  await database.listen(`holdfast_line:{order}:${session(4)}`, 'sharded');
  await database.redis.set(INPUT.name, 'token-1', 'PX', 30_000);
  await plantLine(database, INPUT.line, [
    null,
    { holder: 'secret-1', session: session(1), waitedMs: 5_000 },
    { holder: 'secret-2', session: session(2), waitedMs: 4_000 },
    { holder: 'secret-3', session: session(3), mode: 'n' },
    { holder: 'secret-4', session: session(4), mode: 's', channel: `holdfast_line:{order}:${session(4)}` },
    { holder: 'secret-5', session: session(5), mode: 'b' },
  ]);
  const outcome = await inspect();
  if (outcome.is !== 'MUTEX') throw new Error(`found ${outcome.is}`);
  expect(outcome.tickets).toBe(5);
  const rows = outcome.line.split('\n').map((row) => row.split(' '));
  expect(rows.map(([, hears, who]) => [hears, who])).toEqual([
    ['h', session(1)],
    ['d', session(2)],
    ['d', session(3)],
    ['h', session(4)],
    ['h', session(5)],
    [undefined, undefined],
  ]);
  expect(Number(rows[0]?.[0])).toBeGreaterThanOrEqual(5_000);
  expect(Number(rows[0]?.[0])).toBeLessThan(8_000);
  expect(JSON.stringify(outcome)).not.toContain('secret');
});

test('of a long line the first are told, over empty places, and all are counted', async () => {
  await holdLock();
  const tickets = Array.from({ length: 300 }, (_, i) => ({ holder: `h:${i}`, session: session(1) }));
  await plantLine(database, INPUT.line, [...Array.from({ length: 250 }, () => null), ...tickets]);
  const rowsOf = async (shownMax: number): Promise<number> => {
    const outcome = await inspect({ shownMax });
    if (outcome.is !== 'LOCK') throw new Error(`found ${outcome.is}`);
    expect(outcome.tickets).toBe(shownMax === 0 ? 0 : 300);
    return outcome.line.split('\n').length - 1;
  };
  expect(await rowsOf(100)).toBe(100);
  expect(await rowsOf(7)).toBe(7);
  // Where there is no line, none is looked for.
  expect(await rowsOf(0)).toBe(0);
});

test('a line that has only places that were left costs a bounded time', async () => {
  await holdLock();
  const ticket = { holder: 'h:1', session: session(1) };
  await plantLine(database, INPUT.line, [ticket], { last: 1e12 });
  await database.redis.hdel(INPUT.line, '1');
  expect(await inspect()).toMatchObject({ is: 'LOCK', line: '' });
});

test('tickets whose processes have not asked for long are not told', async () => {
  await holdLock();
  await plantLine(database, INPUT.line, [
    { holder: 'h:1', session: session(1), leftMs: -1 },
    { holder: 'h:2', session: session(2) },
  ]);
  expect(await inspect()).toMatchObject({
    tickets: 1,
    line: expect.stringMatching(/^\d+ d 00000002-\S+\n$/),
  });
});

test('a free name with a line is told, and whether it is left to guests', async () => {
  const ticket = { holder: 'h:1', session: session(1), mode: 'n' } as const;
  await plantLine(database, INPUT.line, [ticket]);
  expect(await inspect()).toMatchObject({ is: 'FREE', openMs: 0, tickets: 1, listeners: 0 });
  // Further off than any window: of a clock that was set back.
  await database.redis.hset(INPUT.line, 'open', Date.now() + 60_000);
  expect(await inspect()).toMatchObject({ is: 'FREE', openMs: 0 });
  await database.redis.hdel(INPUT.line, '1', '#h:1');
  expect(await inspect()).toEqual({ is: 'ABSENT' });
});

test.each([
  ['a list', () => database.redis.rpush(INPUT.line, 'x')],
  ['a hash of somebody else', () => database.redis.hset(INPUT.line, { first: 'x', last: 'y' })],
])('%s in the place of the line hides nothing', async (_what, plant) => {
  await plant();
  expect(await inspect()).toEqual({ is: 'ABSENT' });
  await holdLock();
  expect(await inspect()).toMatchObject({ is: 'LOCK', tickets: 0, line: '' });
});

test("a call that names the lock's own key only tells everything but the line and the fence", async () => {
  for (const plant of [holdLock, () => database.redis.set(INPUT.name, 'token-1', 'PX', 30_000)]) {
    await plant();
    expect(await inspect({ fence: INPUT.name, line: INPUT.name })).toMatchObject({ tickets: 0, line: '' });
    await database.redis.del(INPUT.name);
  }
});
