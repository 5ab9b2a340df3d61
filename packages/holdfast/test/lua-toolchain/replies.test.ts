import { expect, test } from 'vitest';
import { complaintsWith, complaintsWithFile, TAKE as FIXTURE_TAKE, SWEEP } from './fixture.ts';

const LAST = 'return { GRANTED, server_now() }';

test('an outcome that is given is declared', () => {
  expect(
    complaintsWith('thing/take.lua', LAST, `if lease_ms < 0 then return { GONE } end\n${LAST}`),
  ).toContain('thing/take.lua:21: expected a line `@outcome GONE` in the header, found GONE without it');
});

test('an outcome that is declared is given', () => {
  expect(complaintsWith('thing/take.lua', '-- @repeat', '-- @outcome GONE\n-- @repeat')).toEqual([
    'thing/take.lua:9: expected a return of GONE, which the header declares, found none',
  ]);
});

test('an outcome has as many payload items as declared', () => {
  expect(complaintsWith('thing/take.lua', '{ HELD, taken, ', '{ HELD, ')).toEqual([
    'thing/take.lua:18: expected HELD with 2 payload items, found 1',
  ]);
  expect(complaintsWith('thing/take.lua', LAST, 'return { GRANTED, server_now(), 1 }')).toEqual([
    'thing/take.lua:21: expected GRANTED with 1 payload items, found 2',
  ]);
});

test('a payload item has the declared type as far as can be told', () => {
  expect(complaintsWith('thing/take.lua', '{ HELD, taken, ', '{ HELD, lease_ms, ')).toEqual([
    'thing/take.lua:18: expected owner:string in HELD, found a value of kind integer',
  ]);
  expect(
    complaintsWith('thing/take.lua', "redis.call('PTTL', thing) }", "redis.call('GET', thing) }"),
  ).toEqual(['thing/take.lua:18: expected ttl_ms:integer in HELD, found a value of kind string']);
  expect(complaintsWith('thing/take.lua', '{ HELD, taken, ', '{ HELD, nil, ')).toEqual([
    'thing/take.lua:18: expected owner:string in HELD, found a value of kind nil',
  ]);
});

test('a reply holds no tables', () => {
  const table = 'thing/take.lua:18: expected owner:string in HELD, found a value of kind array';
  expect(complaintsWith('thing/take.lua', '{ HELD, taken, ', '{ HELD, { taken }, ')).toEqual([table]);
  expect(complaintsWith('thing/take.lua', '{ HELD, taken, ', "{ HELD, redis.call('TIME'), ")).toEqual([
    table,
  ]);
  expect(
    complaintsWith('thing/take.lua', '{ HELD, taken, ', "{ HELD, redis.call('HGETALL', thing), "),
  ).toEqual([table]);
});

test('a reply holds no named fields', () => {
  expect(complaintsWith('thing/take.lua', '{ HELD, taken, ', '{ HELD, owner = taken, ')).toEqual([
    'thing/take.lua:18: expected owner:string in HELD, found a named field',
  ]);
});

test('a reply begins with an outcome', () => {
  expect(complaintsWith('thing/take.lua', '{ HELD, taken, ', '{ taken, HELD, ')).toContain(
    'thing/take.lua:18: expected an outcome of the header first in the reply, ' +
      "found `if taken and taken ~= owner then return { taken, HELD, redis.call('PTTL', thing) } end`",
  );
});

test('a reply is a table', () => {
  expect(complaintsWith('thing/take.lua', LAST, 'return GRANTED, server_now()')).toContain(
    'thing/take.lua:21: expected one table that begins with an outcome of the header, ' +
      'found `return GRANTED, server_now()`',
  );
});

test('a script ends with a return', () => {
  expect(
    complaintsWith('thing/take.lua', LAST, 'if owner then return { GRANTED, server_now() } end'),
  ).toEqual([
    'thing/take.lua:21: expected a return at the end, found `if owner then return { GRANTED, server_now() } end`',
  ]);
});

test('a call at the end of a reply gives one value', () => {
  const found = complaintsWith('include/now.lua', 'return tonumber', 'return 1, tonumber');
  expect(found).toEqual([
    'thing/take.lua:21: expected a call that is sure to give one value at the end of a reply, ' +
      'found `return { GRANTED, server_now() }`',
  ]);
});

test('a function that may end without a value is not the end of a reply', () => {
  const found = complaintsWith('include/now.lua', 'return tonumber', 'if 1 < 2 then return 1 end\n  type');
  expect(found).toContainEqual(expect.stringContaining('a call that is sure to give one value'));
});

const LISTING = `#!lua flags=no-writes
--- Lists something.
-- @arg prefix string: what names begin with
-- @outcome FOUND cursor:string keys:strings
-- @repeat harmless: it reads
local prefix = ARGV[1]

local page = redis.call('SCAN', '0', 'MATCH', prefix)
local reply = { FOUND, page[1] }
for i = 1, #page[2] do reply[i + 2] = page[2][i] end
return reply
`;

test('the rest of a reply may be filled in a loop', () => {
  expect(complaintsWithFile('thing/list.lua', LISTING)).toEqual([]);
});

test('what is filled in is not a table or a number', () => {
  expect(
    complaintsWithFile('thing/list.lua', LISTING.replace('= page[2][i] end', '= { page[2][i] } end')),
  ).toEqual([
    'thing/list.lua:10: expected a string, found `for i = 1, #page[2] do reply[i + 2] = { page[2][i] } end`',
  ]);
  expect(
    complaintsWithFile('thing/list.lua', LISTING.replace('= page[2][i] end', '= #page end')),
  ).toHaveLength(1);
});

test('a reply that is filled in has its fixed items from the start', () => {
  expect(complaintsWithFile('thing/list.lua', LISTING.replace('{ FOUND, page[1] }', '{ FOUND }'))).toEqual([
    'thing/list.lua:9: expected FOUND with at least 1 payload items, found 0',
  ]);
});

test('a reply of fixed length is not filled in', () => {
  const text = LISTING.replace('keys:strings', 'first:string');
  expect(complaintsWithFile('thing/list.lua', text)).toEqual([
    'thing/list.lua:11: expected `return { FOUND, ... }`, as its payload has a fixed length, found `return reply`',
  ]);
});

test('a batch gives an outcome of the header for each element', () => {
  expect(complaintsWith('thing/sweep.lua', 'outcomes[i] = RELEASED', 'outcomes[i] = 5')).toEqual([
    'thing/sweep.lua:16: expected an outcome of the header, found `outcomes[i] = 5`',
    'thing/sweep.lua:6: expected a return of RELEASED, which the header declares, found none',
  ]);
});

test('a batch answers with the list of its outcomes', () => {
  expect(complaintsWith('thing/sweep.lua', 'return outcomes', 'return { RELEASED, GONE }')[0]).toBe(
    'thing/sweep.lua:19: expected the list of outcomes, begun as `{}`, found `return { RELEASED, GONE }`',
  );
});

const BARE = '-- @outcome GRANTED now_s:integer\n-- @bare GRANTED now_s';

test('a bare outcome is returned as one integer', () => {
  const text = FIXTURE_TAKE.replace('-- @outcome GRANTED now_s:integer', BARE).replace(
    LAST,
    'local now_s = server_now()\nreturn now_s',
  );
  expect(complaintsWithFile('thing/take.lua', text)).toEqual([]);
});

test('a bare outcome that is declared is given', () => {
  expect(complaintsWith('thing/take.lua', '-- @outcome GRANTED now_s:integer', BARE)).toEqual([
    'thing/take.lua:8: expected a return of now_s alone, which the header declares, found none',
  ]);
});

test('one value alone is returned only where the header has a bare outcome, and under its name', () => {
  expect(complaintsWith('thing/take.lua', LAST, 'return lease_ms')).toContain(
    'thing/take.lua:21: expected one table that begins with an outcome of the header, found `return lease_ms`',
  );
  const text = FIXTURE_TAKE.replace('-- @outcome GRANTED now_s:integer', BARE).replace(
    LAST,
    'return lease_ms',
  );
  expect(complaintsWithFile('thing/take.lua', text)).toContain(
    'thing/take.lua:22: expected one table that begins with an outcome of the header, found `return lease_ms`',
  );
});

test('an outcome of a batch with a payload comes as a string that begins with its name', () => {
  const outcomes = '@each outcome RELEASED GONE';
  const told = (reply: string): string[] =>
    complaintsWithFile(
      'thing/sweep.lua',
      SWEEP.replace(outcomes, `${outcomes}\n-- @each bare REVOKED words`).replace(
        '= GONE\n',
        `= GONE\n${reply}\n`,
      ),
    );
  expect(told("outcomes[i] = 'REVOKED ' .. owner")).toEqual([]);
  expect(told("outcomes[i] = 'RELEASED ' .. owner")).toHaveLength(2);
  expect(told('outcomes[i] = owner')).toHaveLength(2);
  expect(told('')).toEqual([
    'thing/sweep.lua:7: expected a return of REVOKED, which the header declares, found none',
  ]);
});
