import { expect, test } from 'vitest';
import {
  adminReadSession,
  type SessionRecordInput,
  sessionForget,
  sessionRecord,
} from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

const INPUT: SessionRecordInput = {
  record: 'holdfast_session:a',
  application: 'billing',
  host: 'host-1',
  pid: 7,
  ttlMs: 60_000,
};
const WRITTEN = { application: 'billing', host: 'host-1', pid: '7' };

async function record(changes: Partial<SessionRecordInput> = {}): Promise<unknown> {
  return sessionRecord.decode(await database.run(sessionRecord.call({ ...INPUT, ...changes })));
}

async function forget(): Promise<unknown> {
  return sessionForget.decode(await database.run(sessionForget.call({ record: INPUT.record })));
}

async function read(): Promise<unknown> {
  return adminReadSession.decode(await database.run(adminReadSession.call({ record: INPUT.record })));
}

test('a record says who the session is, also after a second call', async () => {
  expect(await record()).toEqual({ is: 'RENEWED' });
  expect(await record()).toEqual({ is: 'RENEWED' });
  expect(await database.contents()).toEqual({ [INPUT.record]: WRITTEN });
  await database.expectTtl(INPUT.record, 60_000);
});

test('a record that is about to expire lasts its whole time again', async () => {
  await record({ ttlMs: 500 });
  await record();
  await database.expectTtl(INPUT.record, 60_000);
});

test('a user that may not set an expiry leaves no record behind', async () => {
  const client = await database.restricted('-pexpire', '-del', '-hdel');
  await expect(database.run(sessionRecord.call(INPUT), client)).rejects.toThrow(/^NOPERM .* PEXPIRE/);
  expect(await database.contents()).toEqual({});
});

test('a session that has ended is forgotten, and stays forgotten', async () => {
  await record();
  expect(await forget()).toEqual({ is: 'GONE' });
  expect(await forget()).toEqual({ is: 'GONE' });
  expect(await database.contents()).toEqual({});
});

test('a session can be forgotten by a server that is out of memory', async () => {
  await record();
  await database.whileOutOfMemory(async () => {
    await expect(record()).rejects.toThrow(/OOM/);
    expect(await forget()).toEqual({ is: 'GONE' });
  });
});

test('a record is read as it was written, and reading twice changes nothing', async () => {
  await record();
  const contents = await database.contents();
  expect(await read()).toEqual({ is: 'FOUND', ...WRITTEN });
  expect(await read()).toEqual({ is: 'FOUND', ...WRITTEN });
  expect(await database.contents()).toEqual(contents);
  await database.expectTtl(INPUT.record, 60_000);
});

test('a session without a record is absent', async () => {
  expect(await read()).toEqual({ is: 'ABSENT' });
});

test('fields beside those of a record are not read', async () => {
  await record();
  await database.redis.hset(INPUT.record, 'note', 'x'.repeat(100_000));
  expect(await read()).toEqual({ is: 'FOUND', ...WRITTEN });
});

test.each([
  ['no application', { host: 'host-1', pid: '7' }],
  ['an empty host', { ...WRITTEN, host: '' }],
  ['an application too long for ours', { ...WRITTEN, application: 'x'.repeat(1_025) }],
  ['a pid that is no number', { ...WRITTEN, pid: '7x' }],
  ['a pid of too many digits', { ...WRITTEN, pid: '1'.repeat(16) }],
])('a hash with %s is no record', async (_what, fields) => {
  await database.redis.hset(INPUT.record, fields);
  expect(await read()).toEqual({ is: 'ABSENT' });
});

test('a key of another type is refused by the server', async () => {
  await database.redis.set(INPUT.record, 'x');
  await expect(read()).rejects.toThrow(/^WRONGTYPE/);
});

test('a record can be read on a server that is out of memory', async () => {
  await record();
  await database.whileOutOfMemory(async () => expect(await read()).toEqual({ is: 'FOUND', ...WRITTEN }));
});
