import { expect, test } from 'vitest';
import { complaintsWith, complaintsWithFile } from './fixture.ts';

test('a local has the name that the header gives to its key', () => {
  expect(complaintsWith('thing/take.lua', 'local thing = KEYS[1]', 'local object = KEYS[1]')).toContain(
    'thing/take.lua:12: expected `local thing = KEYS[1]`, found `local object = KEYS[1]`',
  );
});

test('locals come in the order of the header', () => {
  const swapped = 'local journal = KEYS[2]\nlocal thing = KEYS[1]\n';
  expect(
    complaintsWith('thing/take.lua', 'local thing = KEYS[1]\nlocal journal = KEYS[2]\n', swapped),
  ).toEqual(['thing/take.lua:12: expected `local thing = KEYS[1]`, found `local journal = KEYS[2]`']);
});

test('a local is bound to the index of its key or argument', () => {
  expect(complaintsWith('thing/take.lua', 'owner = ARGV[1]', 'owner = ARGV[2]')).toEqual([
    'thing/take.lua:14: expected `local owner = ARGV[1]`, found `local owner = ARGV[2]`',
  ]);
});

test('an integer argument is made a number', () => {
  expect(complaintsWith('thing/take.lua', 'tonumber(ARGV[2])', 'ARGV[2]')).toEqual([
    'thing/take.lua:15: expected `local lease_ms = tonumber(ARGV[2])`, found `local lease_ms = ARGV[2]`',
  ]);
});

test('a string argument is not made a number', () => {
  expect(complaintsWith('thing/take.lua', 'owner = ARGV[1]', 'owner = tonumber(ARGV[1])')).toEqual([
    'thing/take.lua:14: expected `local owner = ARGV[1]`, found `local owner = tonumber(ARGV[1])`',
  ]);
});

test('a declared argument is read', () => {
  const found = complaintsWith('thing/take.lua', 'local lease_ms = tonumber(ARGV[2])\n', '');
  expect(found[0]).toBe(
    'thing/take.lua:16: expected `local lease_ms = tonumber(ARGV[2])`, found ' +
      "`local taken = redis.call('GET', thing)`",
  );
});

test('a declared argument is used', () => {
  expect(complaintsWith('thing/take.lua', "'PX', lease_ms", "'PX', 1000")).toEqual([
    'thing/take.lua:15: expected `lease_ms` to be used, found no use of it',
  ]);
});

test('a key that the header does not declare is not read', () => {
  expect(
    complaintsWith('thing/take.lua', 'note(journal', "redis.call('DEL', KEYS[3])\nnote(journal"),
  ).toContain(
    'thing/take.lua:20: expected KEYS read once for each of the 2 in the header, at the start, found KEYS[3]',
  );
});

test('an argument that the header does not declare is not read', () => {
  expect(complaintsWith('thing/take.lua', "'PX', lease_ms", "'PX', ARGV[3]")).toContain(
    'thing/take.lua:19: expected ARGV read once for each of the 2 in the header, at the start, found ARGV[3]',
  );
});

test('an include does not read KEYS or ARGV', () => {
  expect(
    complaintsWith('include/note.lua', "'SET', journal, owner", "'SET', journal, owner .. ARGV[1]"),
  ).toEqual([
    'include/note.lua:3: expected ARGV read once for each of the 2 in the header, at the start, found ARGV[1]',
  ]);
});

test('a batch script walks over KEYS', () => {
  expect(complaintsWith('thing/sweep.lua', '1, #KEYS do', '1, 10 do')).toContain(
    'thing/sweep.lua:8: expected `for i = 1, #KEYS do` in a batch script, found none',
  );
});

test('a batch script with several keys an element walks over their shares', () => {
  const two = (loop: string): string[] =>
    complaintsWithFile(
      'thing/pair.lua',
      `#!lua
--- Copies each thing.
-- @each key thing string: the owner
-- @each key copy string: the owner, again
-- @each arg owner string: who has it
-- @each outcome RELEASED
-- @repeat harmless: the copy is stated
local outcomes = {}
for i = 1, ${loop} do
  local thing = KEYS[2 * i - 1]
  local copy = KEYS[2 * i]
  local owner = ARGV[i]
  if redis.call('GET', thing) == owner then redis.call('SET', copy, owner) end
  outcomes[i] = RELEASED
end
return outcomes
`,
    );
  expect(two('#KEYS / 2')).toEqual([]);
  const expected = 'thing/pair.lua:8: expected `for i = 1, #KEYS / 2 do` in a batch script, found none';
  expect(two('#KEYS')).toEqual([expected]);
  expect(two('#KEYS / 3')).toEqual([expected]);
});

test('an argument of a batch is taken from the share of its element', () => {
  expect(complaintsWith('thing/sweep.lua', 'ARGV[2 * i - 1]', 'ARGV[i]')).toEqual([
    'thing/sweep.lua:11: expected `local owner = ARGV[2 * i - 1]`, found `local owner = ARGV[i]`',
  ]);
});

test('an index of a batch may be written in another way that comes to the same', () => {
  expect(complaintsWith('thing/sweep.lua', 'ARGV[2 * i - 1]', 'ARGV[(i - 1) * 2 + 1]')).toEqual([]);
});
