import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  type AdminForceReleaseMutexInput,
  type AdminForceReleaseMutexOutcome,
  adminForceReleaseMutex,
} from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';
import { echoOf, plantLine } from './planted-line.ts';

const database = useDatabase();

const INPUT: AdminForceReleaseMutexInput = {
  mutex: 'order',
  line: 'holdfast_line:{order}',
  owner: '',
  channel: 'mutex-channel',
  mode: 'plain',
  mailbox: 'holdfast_session:',
  words: '',
};

const SESSION = 'bbbbbbbb-0000-8000-8000-000000000000';

/** What a mutex with the value `token-1` has for an owner. */
const TOKEN_1 = createHash('sha1').update('token-1').digest('hex');

async function forceRelease(
  input: Partial<AdminForceReleaseMutexInput> = {},
): Promise<AdminForceReleaseMutexOutcome> {
  return adminForceReleaseMutex.decode(
    await database.run(adminForceReleaseMutex.call({ ...INPUT, ...input })),
  );
}

async function holdMutex(token = 'token-1'): Promise<void> {
  await database.redis.set(INPUT.mutex, token, 'PX', 30_000);
}

test('a mutex is taken away and those who listen are woken', async () => {
  const everybody = await database.listen(INPUT.channel);
  await holdMutex();
  expect(await forceRelease()).toEqual({ is: 'RELEASED', owner: TOKEN_1, receivers: 1 });
  expect(await database.contents()).toEqual({});
  expect(await everybody.heard()).toEqual(['0']);
  expect(await forceRelease()).toEqual({ is: 'GONE' });
  expect(await everybody.heard()).toEqual([]);
});

test('a mutex is taken from the owner whose digest is named, and from no other', async () => {
  await holdMutex('token-2');
  expect(await forceRelease({ owner: TOKEN_1 })).toMatchObject({
    is: 'HELD',
    owner: expect.not.stringContaining('token'),
  });
  // The token itself is not what owners are named by.
  expect(await forceRelease({ owner: 'token-2' })).toMatchObject({ is: 'HELD' });
  expect(await database.contents()).toEqual({ [INPUT.mutex]: 'token-2' });
  await holdMutex();
  expect(await forceRelease({ owner: TOKEN_1 })).toMatchObject({ is: 'RELEASED', owner: TOKEN_1 });
  expect(await database.contents()).toEqual({});
});

test('the words are left for the owner that lost it, under its digest, for no longer than its lease', async () => {
  await holdMutex();
  expect(await forceRelease({ words: 'stuck\u0000 since %s noon' })).toMatchObject({ is: 'RELEASED' });
  const left = `holdfast_revoked:{order}:${TOKEN_1}`;
  expect(await database.contents()).toEqual({ [left]: 'revoked stuck\u0000 since %s noon' });
  await database.expectTtl(left, 30_000);
  expect(await forceRelease({ words: 'again' })).toEqual({ is: 'GONE' });
  expect(await database.redis.get(left)).toBe('revoked stuck\u0000 since %s noon');
});

test('who keeps a mutex is left no words', async () => {
  await holdMutex();
  expect(await forceRelease({ owner: 'token-2', words: 'stuck' })).toMatchObject({ is: 'HELD' });
  expect(await database.contents()).toEqual({ [INPUT.mutex]: 'token-1' });
});

test('the next in line who hears is the owner at once, for as long as its claim, and nobody else is told', async () => {
  const everybody = await database.listen(INPUT.channel);
  const heard = await database.listen(`holdfast_session:${SESSION}`);
  const first = { holder: `${'1'.repeat(32)}:holdfast`, session: SESSION };
  await holdMutex();
  await plantLine(database, INPUT.line, [first]);
  expect(await forceRelease()).toEqual({ is: 'RELEASED', owner: TOKEN_1, receivers: 0 });
  expect(await database.redis.get(INPUT.mutex)).toBe(first.holder);
  await database.expectTtl(INPUT.mutex, 1_000);
  expect(await heard.heard()).toEqual([`g ${echoOf(first)} 0 0`]);
  expect(await everybody.heard()).toEqual([]);
});

test('on a server of a quorum there is no line, and nobody becomes the owner', async () => {
  const everybody = await database.listen(INPUT.channel);
  await database.listen(`holdfast_session:${SESSION}`);
  await holdMutex();
  await plantLine(database, INPUT.line, [{ holder: 'token-2', session: SESSION }]);
  expect(await forceRelease({ mailbox: '' })).toMatchObject({ is: 'RELEASED', receivers: 1 });
  expect(await database.redis.exists(INPUT.mutex)).toBe(0);
  expect(await everybody.heard()).toEqual(['0']);
});

test('a string that is too long for a token is a conflict and is not touched', async () => {
  await holdMutex('x'.repeat(1_025));
  expect(await forceRelease()).toEqual({ is: 'CONFLICT', found: 'a string too long for a mutex' });
  expect(await database.redis.strlen(INPUT.mutex)).toBe(1_025);
});

test('a string that never expires is a conflict and is not touched', async () => {
  await database.redis.set(INPUT.mutex, 'data');
  expect(await forceRelease()).toEqual({ is: 'CONFLICT', found: 'a string without an expiry' });
  expect(await database.contents()).toEqual({ [INPUT.mutex]: 'data' });
});

test('a key of another type is a conflict and is not touched', async () => {
  await database.redis.hset(INPUT.mutex, 'session:1', '1');
  expect(await forceRelease()).toEqual({ is: 'CONFLICT', found: 'hash' });
  expect(await database.contents()).toEqual({ [INPUT.mutex]: { 'session:1': '1' } });
});

test('a server out of memory still releases', async () => {
  await holdMutex();
  await database.whileOutOfMemory(async () => {
    expect(await forceRelease()).toMatchObject({ is: 'RELEASED' });
  });
});

test('a user who may not publish still releases', async () => {
  await holdMutex();
  const user = await database.restricted('resetchannels');
  const reply = await database.run(adminForceReleaseMutex.call(INPUT), user);
  expect(adminForceReleaseMutex.decode(reply)).toEqual({ is: 'RELEASED', owner: TOKEN_1, receivers: 0 });
});
