import { expect, test } from 'vitest';
import { complaintsWith } from './fixture.ts';

const ALLOWED =
  'error, pcall, tonumber, type, unpack, redis.acl_check_cmd/call/pcall/sha1hex, string.format/match/sub, math.floor/max/min';

test('a script reads no globals', () => {
  expect(complaintsWith('thing/take.lua', 'note(journal, owner)', 'note(journal, who)')).toEqual([
    `thing/take.lua:20: expected a local, or one of ${ALLOWED}, found the global \`who\``,
  ]);
});

test('a script writes no globals', () => {
  expect(complaintsWith('thing/take.lua', 'note(', 'last = owner\nnote(')).toEqual([
    `thing/take.lua:20: expected a local, or one of ${ALLOWED}, found the global \`last\``,
  ]);
});

test('a local is not seen outside its block', () => {
  expect(
    complaintsWith('thing/take.lua', 'note(', 'if taken then local x = 1 type(x) end\ntype(x)\nnote('),
  ).toEqual([`thing/take.lua:21: expected a local, or one of ${ALLOWED}, found the global \`x\``]);
});

test('a function is local', () => {
  expect(complaintsWith('thing/take.lua', 'note(', 'function f() end\nnote(')).toEqual([
    'thing/take.lua:20: expected a statement that our scripts use (local, if, for, while, return, a call), ' +
      'found `function`',
  ]);
});

test('time comes from the server', () => {
  expect(complaintsWith('include/now.lua', "tonumber(redis.call('TIME')[1])", 'os.time()')).toContain(
    "include/now.lua:3: expected the server's time from TIME, found the global `os`",
  );
});

test('a number is not made a string by tostring', () => {
  expect(
    complaintsWith('thing/take.lua', 'note(journal, owner)', 'note(journal, tostring(lease_ms))'),
  ).toEqual([
    "thing/take.lua:20: expected string.format('%.0f', ...), as tostring writes 1.79e+15, found the global `tostring`",
  ]);
});

test('a number is not joined to a string', () => {
  expect(
    complaintsWith('thing/take.lua', 'note(journal, owner)', "note(journal, owner .. ':' .. lease_ms)"),
  ).toEqual(['thing/take.lua:20: expected strings on both sides of `..`, found a number']);
});

test('of a library only what we know is used', () => {
  expect(complaintsWith('thing/take.lua', 'note(journal, owner)', 'note(journal, math.random())')).toEqual([
    `thing/take.lua:20: expected one of ${ALLOWED}, found \`math.random\``,
  ]);
  expect(complaintsWith('thing/take.lua', 'note(', 'redis.replicate_commands()\nnote(')).toEqual([
    `thing/take.lua:20: expected one of ${ALLOWED}, found \`redis.replicate_commands\``,
  ]);
});

test('a local is used', () => {
  expect(complaintsWith('thing/take.lua', 'note(', 'local idle = 1\nnote(')).toEqual([
    'thing/take.lua:20: expected `idle` to be used, found no use of it',
  ]);
});
