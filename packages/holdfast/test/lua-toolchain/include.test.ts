import { expect, test } from 'vitest';
import { complaintsWith, complaintsWithFile, moduleWith, TAKE } from './fixture.ts';

test('an include that does not exist is refused', () => {
  expect(complaintsWith('thing/take.lua', '@include now', '@include later')).toEqual([
    'thing/take.lua:10: expected a file include/later.lua for @include later, found none',
  ]);
});

test('an include that is not used is refused', () => {
  expect(
    complaintsWith('thing/take.lua', 'note(journal, owner)', "redis.call('SET', journal, owner)"),
  ).toEqual(['thing/take.lua:11: expected a use of what @include note gives, found none']);
});

test('a file in include/ that no script includes is refused', () => {
  expect(complaintsWithFile('include/spare.lua', 'local function spare() return 1 end\n')).toEqual([
    'include/spare.lua:1: expected a script that includes it, found none',
  ]);
});

test('includes that include each other are refused', () => {
  expect(
    complaintsWithFile('include/now.lua', '-- @include now\nlocal function server_now() return 1 end\n'),
  ).toEqual(['include/now.lua:1: expected includes without a circle, found now -> now']);
});

test('an include may include another, which is then put first and once', () => {
  const module = moduleWith('include/note.lua', '-- Writes', '-- @include now\n-- Writes').replaceAll(
    '\n',
    ' ',
  );
  expect(module.match(/local function server_now/g)).toHaveLength(1);
  expect(module.indexOf('function server_now')).toBeLessThan(module.indexOf('function note'));
});

test('an include holds functions and constants only', () => {
  expect(complaintsWith('include/now.lua', '-- The', "redis.call('TIME')\n-- The")).toEqual([
    "include/now.lua:1: expected only local functions and constants in an include, found `redis.call('TIME')`",
  ]);
});

test('an include does not rely on one that it does not include', () => {
  const found = complaintsWith('include/now.lua', 'return tonumber', "note(0, '')\n  return tonumber");
  expect(found).toContain(
    'include/now.lua:3: expected a local, or one of error, pcall, tonumber, type, unpack, redis.acl_check_cmd/call/pcall/sha1hex, ' +
      'string.format/match/sub, math.floor/max/min, found the global `note`',
  );
});

const LATE = TAKE.replace('-- @include note\n', '');

test('an include that the body names stands there', () => {
  const text = LATE.replace('note(journal', '-- @include note\nnote(journal');
  const source = moduleWith('thing/take.lua', TAKE, text);
  const places = ['function server_now', 'local taken', 'function note', 'note(journal, owner)\\n"'].map(
    (found) => source.indexOf(found),
  );
  expect(places).not.toContain(-1);
  expect(places).toEqual([...places].sort((a, b) => a - b));
});

test('what an include gives is not used above the line where it stands', () => {
  const text = LATE.replace('return { GRANTED', '-- @include note\nreturn { GRANTED');
  expect(complaintsWith('thing/take.lua', TAKE, text)).toEqual([
    'thing/take.lua:19: expected what include/note.lua gives only below line 20, where it stands, found `note(journal, owner)`',
  ]);
});
