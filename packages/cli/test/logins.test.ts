/** No message and no list of processes shows a user or a password. */
import { expect, test } from 'vitest';
import { withoutLogins, wordsWithoutLogins } from '../src/logins.ts';
import { quote } from '../src/printable.ts';

test.each([
  [
    ['inspect', 'redis://u:my secret@h'],
    ['inspect', 'redis://…@h'],
  ],
  [['--redis=redis://:se\ncr@et x@h:1'], ['--redis=redis://…@h:1']],
  [
    ['--sentinel', 'user:top secret@h:1', 'a@b'],
    ['--sentinel', '…@h:1', 'a@b'],
  ],
  [['--sentinel=user:topsecret@h:1'], ['--sentinel=…@h:1']],
  [
    ['--writer', 'user:topsecret@h:1'],
    ['--writer', '…@h:1'],
  ],
  [
    ['--redis', 'redis://h:1', 'a@b'],
    ['--redis', 'redis://h:1', 'a@b'],
  ],
])('of the words %j the logins are left out', (words, shown) => {
  expect(wordsWithoutLogins(words)).toEqual(shown);
});

test('a login with spaces, quotes and line ends is left out of a message however that spells it', () => {
  const url = 'redis://me:a "b\\\n@c d@host';
  for (const said of [url, JSON.stringify(url), quote(url)])
    expect(withoutLogins(`got ${said}, not a@b`, ['ls', url])).toMatch(/^got "?redis:\/\/…@host"?, not a@b$/);
});

test.each([
  ['at redis://me:p@ss/wo,rd@host:1: no', 'at redis://…@host:1: no'],
  ['--redis=rediss://:secret@host', '--redis=rediss://…@host'],
  ['redis://host:1 and a@b', 'redis://host:1 and a@b'],
])('of %j the login is left out', (text, shown) => {
  expect(withoutLogins(text)).toBe(shown);
});
