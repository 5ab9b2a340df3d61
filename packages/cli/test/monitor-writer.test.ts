/** Who writes for the monitor: `--writer`, or a variable, for one server, a quorum, and a primary behind sentinels. */
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { writerClients } from '../src/monitor/writer.ts';
import { unopenedClients } from '../src/servers/unopened.ts';

type Flags = Parameters<typeof writerClients>[0];

const SENTINELS = { sentinel: ['s1:1', 's2:2'], sentinelName: 'main' } as const;

function writerOf(flags: Flags, environment: Record<string, string> = {}) {
  const { writer: _writer, ...reader } = flags;
  return writerClients(flags, unopenedClients(reader, environment), environment);
}

/** The login and the places that a client would connect to. */
function shownOf(clients: ReturnType<typeof writerOf>) {
  return [clients].flat().map((client) => {
    if (!(client instanceof Redis)) throw new Error('expected a client of one server');
    const { host, port, username, password, sentinels, name } = client.options;
    return sentinels == null
      ? `${username}:${password}@${host}:${port}`
      : `${username}:${password}@${name} of ${sentinels.map((one) => one.port)}`;
  });
}

const VARIABLE = 'HOLDFAST_MONITOR_WRITER_URL';

test.each<[string, Flags, Record<string, string>, string[]]>([
  ['one server', { redis: ['redis://h:1'], writer: ['redis://acts:p@h:1'] }, {}, ['acts:p@h:1']],
  ['the variable', { redis: ['redis://h:1'] }, { [VARIABLE]: 'redis://acts:p@h:1' }, ['acts:p@h:1']],
  [
    'the option before the variable',
    { redis: ['redis://h:1'], writer: ['redis://acts:p@h:1'] },
    { [VARIABLE]: 'redis://other:p@h:1' },
    ['acts:p@h:1'],
  ],
  [
    'a quorum',
    { redis: ['redis://a', 'redis://b', 'redis://c'] },
    { [VARIABLE]: 'redis://w:p@a, redis://w:p@b, redis://w:p@c' },
    ['w:p@a:6379', 'w:p@b:6379', 'w:p@c:6379'],
  ],
  ['sentinels', { ...SENTINELS, writer: ['redis://acts:p@'] }, {}, ['acts:p@main of 1,2']],
  [
    'sentinels, with another user that reads',
    SENTINELS,
    { [VARIABLE]: 'redis://acts:p@', HOLDFAST_REDIS_USERNAME: 'looks', HOLDFAST_REDIS_PASSWORD: 'q' },
    ['acts:p@main of 1,2'],
  ],
])('the writer of %s is known with its login', (_what, flags, environment, shown) => {
  expect(shownOf(writerOf(flags, environment))).toEqual(shown);
});

test('without one the reader writes', () => {
  expect(writerOf({ redis: ['redis://h:1'] }, { [VARIABLE]: '' })).toBeNull();
});

test.each<[Flags, Record<string, string>, RegExp]>([
  [{ redis: ['redis://h:1'], writer: ['h:1'] }, {}, /^--writer: expected a URL such as redis:\/\//],
  [{ redis: ['redis://h:1'] }, { [VARIABLE]: 'h:1' }, /^HOLDFAST_MONITOR_WRITER_URL: expected a URL/],
  [{ ...SENTINELS, writer: ['redis://acts:p@h:1'] }, {}, /^--writer: expected redis:\/\/user:password@ with/],
  [{ ...SENTINELS, writer: ['redis://'] }, {}, /^--writer: expected redis:\/\/user:password@ with/],
  [SENTINELS, { [VARIABLE]: 'redis://h:1' }, /^HOLDFAST_MONITOR_WRITER_URL: expected redis:\/\/user/],
  [
    { redis: ['redis://a', 'redis://b', 'redis://c'], writer: ['redis://w:p@a'] },
    {},
    /^--writer: expected the same servers as those to watch, 3, got 1$/,
  ],
])('%j with %j is refused by the name of the option', (flags, environment, message) => {
  expect(() => writerOf(flags, environment)).toThrow(message);
});
