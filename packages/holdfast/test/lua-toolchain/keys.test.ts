import { expect, test } from 'vitest';
import { complaintsWith, complaintsWithFile } from './fixture.ts';

const HEADER_KEYS = 'a key of the header (thing, journal)';

test('a command touches only keys of the header', () => {
  expect(complaintsWith('thing/take.lua', "call('GET', thing)", "call('GET', owner)")).toEqual([
    `thing/take.lua:17: expected ${HEADER_KEYS}, found \`local taken = redis.call('GET', owner)\``,
  ]);
});

test('a key is not made in a script', () => {
  expect(complaintsWith('thing/take.lua', "call('GET', thing)", "call('GET', thing .. ':old')")).toEqual([
    `thing/take.lua:17: expected ${HEADER_KEYS}, found \`local taken = redis.call('GET', thing .. ':old')\``,
  ]);
});

test('pcall is looked at as call is', () => {
  expect(complaintsWith('thing/take.lua', "call('GET', thing)", "pcall('GET', owner)")).toHaveLength(1);
});

test('every key of a command with several is looked at', () => {
  expect(complaintsWith('thing/take.lua', 'note(', "redis.call('DEL', thing, owner)\nnote(")).toEqual([
    `thing/take.lua:20: expected ${HEADER_KEYS}, found \`redis.call('DEL', thing, owner)\``,
  ]);
});

test('a function that takes a key is called with a key of the header', () => {
  expect(complaintsWith('thing/take.lua', 'note(journal, owner)', 'note(owner, journal)')).toEqual([
    `thing/take.lua:20: expected ${HEADER_KEYS}, found \`note(owner, journal)\``,
  ]);
});

test('a function that pcall calls takes a key of the header', () => {
  const body = 'note(journal, owner)';
  expect(complaintsWith('thing/take.lua', body, 'pcall(note, journal, owner)')).toEqual([]);
  expect(complaintsWith('thing/take.lua', body, 'pcall(note, owner, journal)')).toEqual([
    `thing/take.lua:20: expected ${HEADER_KEYS}, found \`pcall(note, owner, journal)\``,
  ]);
});

test('pcall calls functions of ours only', () => {
  const [complaint] = complaintsWith('thing/take.lua', 'note(', "pcall(redis.call, 'DEL', owner)\nnote(");
  expect(complaint).toContain('expected `redis.call` to be called, not passed around');
});

test('a function that hands its parameter on as a key is called with a key of the header', () => {
  const twice = 'local function twice(name) note(name, owner) end\n';
  const body = 'note(journal, owner)';
  expect(complaintsWith('thing/take.lua', body, `${twice}twice(journal)`)).toEqual([]);
  expect(complaintsWith('thing/take.lua', body, `${twice}twice(owner, journal)`)).toEqual([
    `thing/take.lua:21: expected ${HEADER_KEYS}, found \`twice(owner, journal)\``,
  ]);
});

test('a local that hides a key is not that key', () => {
  const hiding = "if taken then\n  local thing = owner\n  redis.call('DEL', thing)\nend\nnote(";
  expect(complaintsWith('thing/take.lua', 'note(', hiding)).toEqual([
    `thing/take.lua:22: expected ${HEADER_KEYS}, found \`redis.call('DEL', thing)\``,
  ]);
});

test('a key is never given another value', () => {
  expect(complaintsWith('thing/take.lua', 'note(', 'journal = owner\nnote(')).toEqual([
    'thing/take.lua:20: expected the key `journal` to stay what it is, found `journal = owner`',
  ]);
});

test('a parameter that is given another value is not a key', () => {
  expect(complaintsWith('include/note.lua', "redis.call('SET'", "journal = 'x'\n  redis.call('SET'")).toEqual(
    [`include/note.lua:4: expected ${HEADER_KEYS}, found \`redis.call('SET', journal, owner)\``],
  );
});

test('a function is called and not passed around', () => {
  expect(complaintsWith('thing/take.lua', 'note(', 'local alias = note\nalias(')).toEqual([
    'thing/take.lua:20: expected `note` to be called, not passed around, found `local alias = note`',
  ]);
});

test('redis.call is not given another name', () => {
  const found = complaintsWith(
    'thing/take.lua',
    'note(',
    "local send = redis.call\nsend('DEL', owner)\nnote(",
  );
  expect(found).toEqual([
    'thing/take.lua:20: expected `redis.call` to be called, not passed around, found `local send = redis.call`',
  ]);
});

test('a command without keys needs none', () => {
  expect(complaintsWith('thing/take.lua', 'note(', "redis.call('PUBLISH', owner, '0')\nnote(")).toEqual([]);
});

test('a command that the user is only asked for is looked at as one that is sent', () => {
  const asked = "if redis.acl_check_cmd('DEL', owner) then note(journal, owner) end";
  expect(complaintsWith('thing/take.lua', 'note(journal, owner)', asked)).toEqual([
    `thing/take.lua:20: expected ${HEADER_KEYS}, found \`${asked}\``,
  ]);
});

const WALK = `#!lua flags=no-writes,allow-cross-slot-keys
--- Tells the first thing that there is.
-- @outcome FOUND ttl_ms:integer
-- @repeat harmless: it reads
local page = redis.call('SCAN', '0')
return { FOUND, redis.call('PTTL', page[2][1]) }
`;

test('a script that walks over keys and only reads finds its keys itself', () => {
  expect(complaintsWithFile('thing/walk.lua', WALK)).toEqual([]);
  expect(complaintsWithFile('thing/walk.lua', WALK.replace(',allow-cross-slot-keys', ''))).toHaveLength(1);
  expect(complaintsWithFile('thing/walk.lua', WALK.replace('no-writes,', ''))).toHaveLength(1);
});

/** A script that makes a key itself. */
const BESIDE = `#!lua
--- Takes the thing, and leaves a mark.
-- @key thing string: the owner
-- @beside mark string: that it was taken
-- @arg owner string: who takes it
-- @outcome GRANTED
-- @repeat harmless: the same owner gets it again
local thing = KEYS[1]
local owner = ARGV[1]
local function beside(key)
  return 'mark:{' .. key .. '}'
end
local mark = beside(thing)
redis.call('SET', thing, owner, 'PX', 1000)
redis.pcall('SET', mark, owner, 'PX', 1000)
return { GRANTED }
`;

test('a key that a script makes itself stands in the header and is touched by pcall only', () => {
  const complaints = (before: string, after: string): string[] =>
    complaintsWithFile('thing/mark.lua', BESIDE.replace(before, after));
  expect(complaintsWithFile('thing/mark.lua', BESIDE)).toEqual([]);
  expect(complaints("pcall('SET', mark", "call('SET', mark")).toEqual([
    "thing/mark.lua:15: expected redis.pcall for a key that the script makes itself, found `redis.call('SET', mark, owner, 'PX', 1000)`",
  ]);
  expect(complaints('-- @beside mark string: that it was taken\n', '')[0]).toContain(
    'expected a key of the header (thing)',
  );
  expect(complaints("redis.pcall('SET', mark", "mark = owner\nredis.pcall('SET', mark")[0]).toContain(
    'expected a key of the header (thing)',
  );
  expect(complaints("'SET', mark, owner", "'SET', thing, mark")).toEqual([
    'thing/mark.lua:7: expected a command on the key `mark`, which the header declares, found none',
  ]);
});
