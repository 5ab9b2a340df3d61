import { expect, test } from 'vitest';
import {
  type AdminForceReleaseLockInput,
  type AdminForceReleaseLockOutcome,
  adminForceReleaseLock,
} from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';
import { echoOf, plantLine } from './planted-line.ts';

const database = useDatabase();

const INPUT: AdminForceReleaseLockInput = {
  lock: 'order',
  fence: 'redisson_lock_token:{order}',
  line: 'holdfast_line:{order}',
  owner: '',
  channel: 'lock-channel',
  mode: 'plain',
  mailbox: 'holdfast_session:',
  words: '',
};

/** Sessions of ours: UUIDs of version 8. */
const [OWNER, FIRST, SECOND] = ['a', 'b', 'c'].map(
  (digit) => `${digit.repeat(8)}-0000-8000-8000-000000000000`,
) as [string, string, string];

async function forceRelease(
  input: Partial<AdminForceReleaseLockInput> = {},
): Promise<AdminForceReleaseLockOutcome> {
  return adminForceReleaseLock.decode(await database.run(adminForceReleaseLock.call({ ...INPUT, ...input })));
}

async function holdLock(holder = 'session:1'): Promise<void> {
  await database.redis.hset(INPUT.lock, holder, '3');
  await database.redis.pexpire(INPUT.lock, 30_000);
}

test('a lock is taken away, whatever its count, and its waiters are woken', async () => {
  const ofLock = await database.listen(INPUT.channel);
  await holdLock();
  await database.redis.set('other', 'kept');
  expect(await forceRelease()).toEqual({ is: 'RELEASED', owner: 'session:1', receivers: 1 });
  expect(await database.contents()).toEqual({ other: 'kept' });
  expect(await ofLock.heard()).toEqual(['0']);
});

test('a lock is taken from the owner that is named, and from no other', async () => {
  const waiter = await database.listen(INPUT.channel);
  await holdLock();
  const contents = await database.contents();
  const refused = await forceRelease({ owner: 'session:0' });
  expect(refused).toEqual({ is: 'HELD', owner: 'session:1', ttlMs: expect.any(Number) });
  expect(await forceRelease({ owner: 'session:0' })).toMatchObject({ is: 'HELD', owner: 'session:1' });
  expect(await database.contents()).toEqual(contents);
  expect(await waiter.heard()).toEqual([]);
  expect(await forceRelease({ owner: 'session:1' })).toMatchObject({ is: 'RELEASED', owner: 'session:1' });
  expect(await forceRelease({ owner: 'session:1' })).toEqual({ is: 'GONE' });
});

test('a second call answers gone and wakes nobody', async () => {
  const waiter = await database.listen(INPUT.channel);
  await holdLock();
  await forceRelease();
  await waiter.heard();
  expect(await forceRelease()).toEqual({ is: 'GONE' });
  expect(await waiter.heard()).toEqual([]);
});

test.each<[what: string, found: string, fields: Record<string, string>]>([
  ['several fields', 'hash', { 'session:1': '1', mode: 'read' }],
  ['a word for a count', 'a hash that is not a lock', { 'session:1': 'read' }],
  ['a count of 16 digits', 'a hash that is not a lock', { 'session:1': '1'.repeat(16) }],
])('a hash with %s is a conflict and is not touched', async (_what, found, fields) => {
  await database.redis.hset(INPUT.lock, fields);
  expect(await forceRelease()).toEqual({ is: 'CONFLICT', found });
  expect(await forceRelease()).toEqual({ is: 'CONFLICT', found });
  expect(await database.contents()).toEqual({ [INPUT.lock]: fields });
});

test('a key of another type is a conflict and is not touched', async () => {
  await database.redis.rpush(INPUT.lock, 'x');
  expect(await forceRelease()).toEqual({ is: 'CONFLICT', found: 'list' });
  expect(await database.contents()).toEqual({ [INPUT.lock]: ['x'] });
});

test('a server out of memory still releases', async () => {
  await holdLock();
  await database.whileOutOfMemory(async () => {
    expect(await forceRelease()).toMatchObject({ is: 'RELEASED' });
  });
});

test('a user who may not publish still releases', async () => {
  await holdLock();
  const user = await database.restricted('resetchannels');
  expect(adminForceReleaseLock.decode(await database.run(adminForceReleaseLock.call(INPUT), user))).toEqual({
    is: 'RELEASED',
    owner: 'session:1',
    receivers: 0,
  });
});

test('a string is left to the script of the mutex', async () => {
  await database.redis.set(INPUT.lock, 'token-1', 'PX', 30_000);
  expect(await forceRelease()).toEqual({ is: 'MUTEX' });
  expect(await database.contents()).toEqual({ [INPUT.lock]: 'token-1' });
});

test('the next in line who hears is the owner at once, with fences and a claim, and nobody else is told', async () => {
  const everybody = await database.listen(INPUT.channel);
  const [deaf, first] = [
    { holder: `${SECOND}:5`, session: SECOND },
    { holder: `${FIRST}:2`, session: FIRST },
  ];
  const heard = await database.listen(`holdfast_session:${FIRST}`);
  await holdLock();
  await plantLine(database, INPUT.line, [null, deaf, first]);
  expect(await forceRelease()).toEqual({ is: 'RELEASED', owner: 'session:1', receivers: 0 });
  const fence = Number(await database.redis.get(INPUT.fence));
  expect(await heard.heard()).toEqual([`g ${echoOf(first)} ${fence - 2} 3`]);
  expect(await database.redis.hgetall(INPUT.lock)).toEqual({ [first.holder]: '1' });
  await database.expectTtl(INPUT.lock, 1_000);
  expect(await database.redis.hkeys(INPUT.line)).toEqual(expect.not.arrayContaining([`#${first.holder}`]));
  expect(await database.redis.hget(INPUT.line, `#${deaf.holder}`)).toBe('2');
  expect(await everybody.heard()).toEqual([]);
});

test('where nobody in line hears, the lock is free and everybody is told', async () => {
  const everybody = await database.listen(INPUT.channel);
  await holdLock();
  await plantLine(database, INPUT.line, [{ holder: `${FIRST}:2`, session: FIRST, mode: 'n' }]);
  expect(await forceRelease()).toMatchObject({ is: 'RELEASED', receivers: 1 });
  expect(await database.redis.exists(INPUT.lock)).toBe(0);
  expect(await everybody.heard()).toEqual(['0']);
});

test('the session of the owner is told which hold it has lost, and only that session', async () => {
  const [owner, other] = [
    await database.listen(`holdfast_session:${OWNER}`),
    await database.listen(`holdfast_session:${FIRST}`),
  ];
  await holdLock(`${OWNER}:12`);
  await forceRelease();
  expect(await owner.heard()).toEqual([`x ${OWNER}:12 revoked`]);
  await holdLock(`${OWNER}:13`);
  await forceRelease({ words: 'stuck\u0000 since %s noon' });
  expect(await owner.heard()).toEqual([`x ${OWNER}:13 revoked stuck\u0000 since %s noon`]);
  // A UUID of version 4: Java's.
  await holdLock('8743c9c0-0795-4907-87fd-6c719a6b4586:41');
  await forceRelease();
  expect(await owner.heard()).toEqual([]);
  expect(await other.heard()).toEqual([]);
});

test('the words are left for the owner that lost it, for no longer than its lease', async () => {
  await holdLock(`${OWNER}:12`);
  expect(await forceRelease({ words: 'stuck\u0000 since %s noon' })).toMatchObject({ is: 'RELEASED' });
  const left = `holdfast_revoked:{order}:${OWNER}:12`;
  expect(await database.contents()).toEqual({ [left]: 'revoked stuck\u0000 since %s noon' });
  await database.expectTtl(left, 30_000);
  // A second call finds no owner, and leaves what there is.
  expect(await forceRelease({ words: 'again' })).toEqual({ is: 'GONE' });
  expect(await database.redis.get(left)).toBe('revoked stuck\u0000 since %s noon');
});

test('words are left on a server of a quorum too, and in the slot of a name with braces', async () => {
  const lock = 'of:{order}:1';
  await database.redis.hset(lock, `${OWNER}:12`, '1');
  await database.redis.pexpire(lock, 5_000);
  expect(await forceRelease({ lock, mailbox: '', words: 'stuck' })).toMatchObject({ is: 'RELEASED' });
  expect(await database.contents()).toEqual({ [`holdfast_revoked:${lock}:${OWNER}:12`]: 'revoked stuck' });
});

test('words for the owner of a lock that had lost its expiry have one all the same', async () => {
  await database.redis.hset(INPUT.lock, `${OWNER}:12`, '1');
  expect(await forceRelease({ words: 'stuck' })).toMatchObject({ is: 'RELEASED' });
  await database.expectTtl(`holdfast_revoked:{order}:${OWNER}:12`, 60_000);
});

test('who keeps a lock is left no words', async () => {
  await holdLock();
  await forceRelease({ owner: 'session:0', words: 'stuck' });
  expect(await database.redis.keys('holdfast_revoked:*')).toEqual([]);
});

test('a user who may not leave the words still releases, and hands on', async () => {
  const heard = await database.listen(`holdfast_session:${FIRST}`);
  await holdLock();
  await plantLine(database, INPUT.line, [{ holder: `${FIRST}:2`, session: FIRST }]);
  const user = await database.restricted('resetkeys', '~order', '~redisson_*', '~holdfast_line:*');
  const call = adminForceReleaseLock.call({ ...INPUT, words: 'stuck' });
  expect(adminForceReleaseLock.decode(await database.run(call, user))).toMatchObject({ is: 'RELEASED' });
  expect(await heard.heard()).toHaveLength(1);
  expect(await database.redis.keys('holdfast_revoked:*')).toEqual([]);
});

test('on a server of a quorum there is no line: nobody becomes the owner, nobody is told by name', async () => {
  const [owner, first, everybody] = [
    await database.listen(`holdfast_session:${OWNER}`),
    await database.listen(`holdfast_session:${FIRST}`),
    await database.listen(INPUT.channel),
  ];
  await holdLock(`${OWNER}:12`);
  await plantLine(database, INPUT.line, [{ holder: `${FIRST}:2`, session: FIRST }]);
  expect(await forceRelease({ mailbox: '' })).toMatchObject({ is: 'RELEASED', receivers: 1 });
  expect(await database.redis.exists(INPUT.lock)).toBe(0);
  expect([await owner.heard(), await first.heard(), await everybody.heard()]).toEqual([[], [], ['0']]);
});

test('an owner that is not the one named keeps the lock, and the line stays as it is', async () => {
  await database.listen(`holdfast_session:${FIRST}`);
  await holdLock();
  await plantLine(database, INPUT.line, [{ holder: `${FIRST}:2`, session: FIRST }]);
  const contents = await database.contents();
  expect(await forceRelease({ owner: 'session:0' })).toMatchObject({ is: 'HELD' });
  expect(await database.contents()).toEqual(contents);
});
