import { expect, test } from 'vitest';
import { complaintsWith, complaintsWithFile, fixtureModule } from './fixture.ts';

test('scripts that break no rule give a module', () => {
  expect(fixtureModule()).toContain('export const thingTake');
});

test('a script begins with a shebang', () => {
  expect(complaintsWith('thing/take.lua', '#!lua\n', '')).toEqual([
    'thing/take.lua:1: expected `#!lua`, with or without flags, found `--- Takes the thing for one owner.`',
  ]);
});

test('a flag is one that we know', () => {
  expect(complaintsWith('thing/take.lua', '#!lua', '#!lua flags=allow-oom,no-wirtes')).toEqual([
    'thing/take.lua:1: expected flags among allow-cross-slot-keys, allow-oom, allow-stale, no-cluster, no-writes, found no-wirtes',
  ]);
});

test('a script says in a sentence what it does', () => {
  expect(complaintsWith('thing/take.lua', '--- Takes the thing for one owner.\n', '')).toEqual([
    'thing/take.lua:2: expected a sentence after `---` that says what the script does, ' +
      'found `-- @key thing string: the owner`',
  ]);
});

test('a script says why a repeat is harmless', () => {
  expect(complaintsWith('thing/take.lua', '-- @repeat harmless: the same owner gets it again\n', '')).toEqual(
    ['thing/take.lua:10: expected a line `-- @repeat harmless: ` and why, found none in the header'],
  );
  expect(complaintsWith('thing/take.lua', 'harmless: the same owner gets it again', 'harmless')).toEqual([
    'thing/take.lua:9: expected `@repeat harmless: ` and why, found `@repeat harmless`',
  ]);
});

test('a key has a name and a meaning', () => {
  expect(complaintsWith('thing/take.lua', '@key thing string: the owner', '@key thing')).toEqual([
    'thing/take.lua:3: expected `@key name meaning`, name in snake_case, found `thing`',
  ]);
});

test('an argument has a type', () => {
  expect(complaintsWith('thing/take.lua', 'lease_ms integer, ms', 'lease_ms number, ms')).toEqual([
    'thing/take.lua:6: expected `@arg name type, unit: meaning`, type integer, digits or string, found `lease_ms number, ms`',
  ]);
});

test('an outcome is in the table of outcomes', () => {
  expect(complaintsWith('thing/take.lua', '@outcome GRANTED', '@outcome GIVEN')).toEqual([
    'thing/take.lua:7: expected an outcome of the table in outcome.ts, found `GIVEN`',
  ]);
});

test('a payload item has a name and a type', () => {
  expect(complaintsWith('thing/take.lua', 'now_s:integer', 'now_s')).toEqual([
    'thing/take.lua:7: expected payload as `name:integer`, `name:string` or `name:strings`, found `now_s`',
  ]);
});

test('a payload item is not called `is`, which names the outcome', () => {
  expect(complaintsWith('thing/take.lua', 'now_s:integer', 'is:integer')).toHaveLength(1);
});

test('the rest of a reply comes last in its payload', () => {
  expect(complaintsWith('thing/take.lua', 'owner:string ttl_ms', 'owner:strings ttl_ms')).toEqual([
    'thing/take.lua:8: expected `strings` as the last of a payload, found `HELD owner:strings ttl_ms:integer`',
  ]);
});

test('a tag is one that we know', () => {
  expect(complaintsWith('thing/take.lua', '@arg owner', '@param owner')).toEqual([
    'thing/take.lua:5: expected @key, @beside, @arg, @outcome, one @bare, @bundle, @repeat or @include, found @param',
  ]);
});

test('a name stands once in a header', () => {
  expect(complaintsWith('thing/take.lua', '@key journal', '@key thing')).toEqual([
    'thing/take.lua:11: expected each name once in the header, found thing twice',
  ]);
});

test('a script has an outcome', () => {
  const text = '#!lua\n--- Does nothing.\n-- @repeat harmless: it does nothing\nreturn 1\n';
  expect(complaintsWithFile('thing/idle.lua', text)).toEqual([
    'thing/idle.lua:3: expected at least one @outcome, found none in the header',
  ]);
});

test('a batch script has a key for each element', () => {
  const key = '-- @each key thing string: the owner\n';
  expect(complaintsWith('thing/sweep.lua', key, '')).toEqual([
    'thing/sweep.lua:6: expected at least one `@each key`, found none',
  ]);
});

test('a batch script has only lines with @each', () => {
  expect(complaintsWith('thing/sweep.lua', '@each arg owner', '@arg owner')).toEqual([
    'thing/sweep.lua:7: expected only @each lines in a batch script, found lines with and without @each',
  ]);
});

test('only keys, arguments and outcomes are said for each element', () => {
  expect(complaintsWith('thing/sweep.lua', '@repeat', '@each repeat')).toEqual([
    'thing/sweep.lua:7: expected @each key, @each beside, @each arg, @each outcome or @each bare, found @each repeat',
  ]);
});

test('a batch has one outcome with a payload at most, and says which text that is', () => {
  const withBare = (bare: string): string[] =>
    complaintsWith('thing/sweep.lua', '-- @repeat', `${bare}\n-- @repeat`);
  expect(withBare('-- @each bare HELD owner:string')).toEqual([
    'thing/sweep.lua:7: expected `@each bare OUTCOME item`, for the text behind the name of that outcome, found `HELD owner:string`',
  ]);
  expect(withBare('-- @each bare HELD owner\n-- @each bare REVOKED words')).toEqual([
    'thing/sweep.lua:9: expected one @each bare at most, found several',
  ]);
});

test('a script lies at <noun>/<verb>.lua', () => {
  expect(complaintsWithFile('take.lua', '')).toEqual([
    'take.lua:1: expected a path <noun>/<verb>.lua, found take.lua',
  ]);
});

test('a script has at most 60 lines below its header', () => {
  const filler = "redis.call('DEL', journal)\n".repeat(51);
  expect(
    complaintsWith('thing/take.lua', 'note(journal, owner)\n', `note(journal, owner)\n${filler}`),
  ).toEqual(['thing/take.lua:1: expected at most 60 lines below the header, found 61']);
});

test('an include has at most 60 lines', () => {
  const filler = '-- And so on.\n'.repeat(60);
  expect(complaintsWith('include/now.lua', '-- The', `${filler}-- The`)).toEqual([
    'include/now.lua:1: expected at most 60 lines below the header, found 64',
  ]);
});

test.each(['HELD', 'HELD owner', 'GONE ttl_ms', 'HELD ttl_ms more'])(
  'a bare outcome `%s` is refused',
  (bare) => {
    const lines = `-- @outcome HELD owner:string ttl_ms:integer\n-- @bare ${bare}`;
    expect(complaintsWith('thing/take.lua', '-- @outcome HELD owner:string ttl_ms:integer', lines)).toEqual([
      `thing/take.lua:9: expected \`@bare OUTCOME item\` below that outcome, with an integer of its payload, found \`${bare}\``,
    ]);
  },
);

test('a batch script, which is many already, cannot be bundled', () => {
  const line = '-- @repeat';
  expect(complaintsWith('thing/sweep.lua', line, `-- @bundle\n${line}`)).toEqual([
    'thing/sweep.lua:8: expected no @bundle in a batch script, found @bundle',
  ]);
});
