import { expect, test } from 'vitest';
import { complaintsWith } from './fixture.ts';

const KNOWN =
  'DEL, GET, HDEL, HEXISTS, HGETALL, HKEYS, HLEN, HMGET, HSET, INFO, PEXPIRE, PTTL, PUBLISH, PUBSUB, SCAN, SET, SPUBLISH, STRLEN, TIME, TYPE';

test('a command is one of the table', () => {
  expect(complaintsWith('thing/take.lua', 'note(', "redis.call('HPEXPIRE', thing, 1)\nnote(")).toEqual([
    `thing/take.lua:20: expected one of ${KNOWN}, found \`HPEXPIRE\``,
  ]);
});

test('a command is named in upper case', () => {
  expect(complaintsWith('thing/take.lua', "'PTTL'", "'pttl'")).toEqual([
    `thing/take.lua:18: expected one of ${KNOWN}, found \`pttl\``,
  ]);
});

test('a command is named by a literal', () => {
  expect(complaintsWith('thing/take.lua', 'note(', 'redis.call(owner, thing)\nnote(')).toEqual([
    'thing/take.lua:20: expected a command named by a literal, found `redis.call(owner, thing)`',
  ]);
});

test('a script that says it does not write does not write, nor do its includes', () => {
  expect(complaintsWith('thing/take.lua', '#!lua', '#!lua flags=no-writes')).toEqual([
    'include/note.lua:3: expected only reads in a script with no-writes, found `SET`',
    'thing/take.lua:19: expected only reads in a script with no-writes, found `SET`',
  ]);
});
