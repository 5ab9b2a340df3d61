/** What the generated module looks like, and what its decoders refuse. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Reply } from '../../src/clients/client.ts';
import {
  adminScan,
  lockAcquire,
  lockRecount,
  lockRenew,
  mutexAcquire,
  mutexRelease,
  mutexRenew,
} from '../../src/scripts/generated.ts';
import { OUTCOMES } from '../../src/scripts/outcome.ts';
import { fixtureModule, moduleWith } from './fixture.ts';

test('the module says what made it and that it is not edited', () => {
  expect(fixtureModule().split('\n')[0]).toBe('// Generated from lua/ by `npm run lua`. Do not edit.');
});

test('outcome numbers, includes and body follow the shebang, without comments', () => {
  const { source } = lockAcquire.text;
  expect(source.startsWith('#!lua\nlocal GRANTED = 1\nlocal HELD = 2\n')).toBe(true);
  expect(source).not.toContain('--');
  expect(source.indexOf('server_now()')).toBeLessThan(source.indexOf('KEYS[1]'));
});

test('a script carries the hash of its own text', () => {
  const { source, sha } = lockAcquire.text;
  expect(createHash('sha1').update(source).digest('hex')).toBe(sha);
});

test('quotes, backslashes, backticks and dollars in a script survive', () => {
  const nasty = String.raw`local text = 'a\r\n\\ "b" ${'`$'}{c}\''`;
  const line = 'note(journal, text)';
  const module = moduleWith('thing/take.lua', 'note(journal, owner)', `${nasty}\n${line}`);
  expect(module).toContain(JSON.stringify(`${nasty}\n`));
});

test('only what the scripts need is imported', () => {
  expect(fixtureModule()).not.toContain('stringsFrom');
});

test('a call puts keys and arguments in the order of the header and writes integers out', () => {
  const { script, keys, args } = lockAcquire.call({
    ...{ lock: 'l', fence: 'f', line: 'q', holder: 'h', leaseMs: 30_000, fences: 65, fenceTtlMs: 0 },
    notAfterMs: 1_700_000_000_000,
    wantsTime: 0,
    commonUs: 1_700_000_000_000_000,
    ticket: '-',
  });
  expect(script).toBe(lockAcquire.text);
  expect(keys).toEqual(['l', 'f', 'q']);
  expect(args).toEqual(['h', '30000', '65', '0', '1700000000000', '0', '1700000000000000', '-']);
});

test('a batch call lays its items end to end', () => {
  const { keys, args } = lockRenew.call([
    { lock: 'a', fence: 'f', holder: 'x', leaseMs: 1, lastFence: 3, fenceTtlMs: 5 },
    { lock: 'b', fence: 'g', holder: 'y', leaseMs: 2, lastFence: 4, fenceTtlMs: 6 },
  ]);
  expect(keys).toEqual(['a', 'f', 'b', 'g']);
  expect(args).toEqual(['x', '1', '3', '5', 'y', '2', '4', '6']);
});

test('a reply is decoded to its outcome and payload', () => {
  expect(lockAcquire.decode([OUTCOMES.GRANTED, 5, 7, 1, 0])).toEqual({
    is: 'GRANTED',
    nowMs: 5,
    firstFence: 7,
    fences: 1,
    tickets: 0,
  });
  expect(lockAcquire.decode([OUTCOMES.HELD, 5, -1, 'me', 2, 3, 0, 1])).toEqual({
    is: 'HELD',
    nowMs: 5,
    ttlMs: -1,
    owner: 'me',
    place: 2,
    tickets: 3,
    openMs: 0,
    isGuest: 1,
  });
  expect(lockRecount.decode([OUTCOMES.GONE])).toEqual({ is: 'GONE' });
  expect(adminScan.decode([OUTCOMES.FOUND, '0'])).toEqual({ is: 'FOUND', cursor: '0', keys: [] });
  expect(adminScan.decode([OUTCOMES.FOUND, '9', 'a', 'b'])).toEqual({
    is: 'FOUND',
    cursor: '9',
    keys: ['a', 'b'],
  });
});

test('an integer alone is the outcome that the header says, with that one item', () => {
  expect(lockAcquire.decode(7)).toEqual({ is: 'GRANTED', firstFence: 7 });
  expect(mutexAcquire.decode(5)).toEqual({ is: 'GRANTED', nowMs: 5 });
  expect(mutexRelease.decode(0)).toEqual({ is: 'RELEASED', receivers: 0 });
  expect(() => lockRecount.decode(1)).toThrow('the script lock.recount answered 1');
});

test('a batch reply is decoded to one outcome an item', () => {
  const { RENEWED, GONE, FAILED } = OUTCOMES;
  expect(mutexRenew.decode([RENEWED, GONE, FAILED, RENEWED], 4)).toEqual([
    'RENEWED',
    'GONE',
    'FAILED',
    'RENEWED',
  ]);
  expect(mutexRenew.decode([], 0)).toEqual([]);
  expect(mutexRenew.decode(['REVOKED why REVOKED', GONE], 2)).toEqual([
    { is: 'REVOKED', words: 'why REVOKED' },
    'GONE',
  ]);
});

test.each<[why: string, reply: Reply]>([
  ['not an array', 'OK'],
  ['nil', null],
  ['a fraction alone', 1.5],
  ['a number alone past what a double holds', 2 ** 53],
  ['empty', []],
  ['an outcome of no script', [99]],
  ['an outcome of another script', [OUTCOMES.COUNTED]],
  ['an outcome by name', ['GRANTED', 1, 2]],
  ['too few payload items', [OUTCOMES.GRANTED, 1, 2, 3]],
  ['too many payload items', [OUTCOMES.GRANTED, 1, 2, 3, 4, 5]],
  ['a string for an integer', [OUTCOMES.GRANTED, 1, '2', 3, 4]],
  ['nil for an integer', [OUTCOMES.GRANTED, 1, null, 3, 4]],
  ['a fraction', [OUTCOMES.GRANTED, 1, 2.5, 3, 4]],
  ['a number past what a double holds', [OUTCOMES.GRANTED, 1, 2 ** 53, 3, 4]],
  ['an integer for a string', [OUTCOMES.HELD, 1, 2, 3, 0, 0, 0, 0]],
])('a reply that is %s is refused', (_why, reply) => {
  const said = `holdfast is broken: the script lock.acquire answered ${JSON.stringify(reply)}`;
  expect(() => lockAcquire.decode(reply)).toThrow(said);
});

test('a rest that is not all strings is refused', () => {
  expect(() => adminScan.decode([OUTCOMES.FOUND, '0', 'a', 1])).toThrow('the script admin.scan answered');
});

test.each<[why: string, reply: Reply]>([
  ['too short', [OUTCOMES.RENEWED]],
  ['too long', [OUTCOMES.RENEWED, OUTCOMES.GONE, OUTCOMES.GONE]],
  ['with an outcome of another script', [OUTCOMES.RENEWED, OUTCOMES.GRANTED]],
  ['with a string that names no outcome', [OUTCOMES.RENEWED, 'why']],
  ['with the number of an outcome that has a payload', [OUTCOMES.RENEWED, OUTCOMES.REVOKED]],
  ['with a hole', [OUTCOMES.RENEWED, null]],
])('a batch reply that is %s is refused', (_why, reply) => {
  expect(() => lockRenew.decode(reply, 2)).toThrow('the script lock.renew answered');
});
