/** Nothing that is printed can steer a terminal, whatever it is made of. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Line, render, styled } from '../src/output.ts';
import { printable, printableJson, quote, withoutLogins, wordsWithoutLogins } from '../src/printable.ts';

/** Said another way than in the source: by numbers. */
function isHarmless(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f);
  const isBidi = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code === 0x061c;
  const isInvisible =
    (code >= 0x200b && code <= 0x200f) || code === 0xfeff || code === 0xad || code === 0x2060;
  const isSeparator = code === 0x2028 || code === 0x2029;
  const isHalf = code >= 0xd800 && code <= 0xdfff;
  return !(isControl || isBidi || isInvisible || isSeparator || isHalf);
}

/** With more of the bad ones than chance would give. */
const anyText = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 0x10_ffff }),
      fc.integer({ min: 0, max: 0x9f }),
      fc.integer({ min: 0x2000, max: 0x206f }),
      fc.integer({ min: 0xd800, max: 0xdfff }),
    ),
  )
  .map((codes) => String.fromCodePoint(...codes));

const harmful = (text: string): string[] => [...text].filter((character) => !isHarmless(character));

describe('whatever the text is', () => {
  test('what is shown of it, plain, quoted or in JSON, has nothing harmful in it', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        for (const shown of [printable(text), quote(text), printableJson({ [text]: text })])
          expect(harmful(shown)).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  test('a program reads from the JSON what was put in', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(JSON.parse(printableJson({ text }))).toEqual({ text });
      }),
      { numRuns: 2_000 },
    );
  });

  test('a line has no escape sequences but our own, with colours and without', () => {
    const span = fc.oneof(
      anyText,
      anyText.map((text) => styled('red', text)),
    );
    const streams = [false, true].map((isTTY) => Object.assign(Object.create(process.stdout), { isTTY }));
    fc.assert(
      fc.property(fc.array(span), (line: Line) => {
        for (const stream of streams) {
          // biome-ignore lint/suspicious/noControlCharactersInRegex: ours begin with one
          const rest = render(line, stream).replaceAll(/\u001b\[(31|39)m/g, '');
          expect(harmful(rest)).toEqual([]);
        }
      }),
      { numRuns: 500 },
    );
  });
});

test.each([
  ['π ✓ 日本 👍🏽 ❤️ é', 'π ✓ 日本 👍🏽 ❤️ é'],
  ['a\u001b[31m', 'a\\u{1b}[31m'],
  ['a\r\nb\tc', 'a\\u{d}\\u{a}b\\u{9}c'],
  ['\u007f\u009b2J', '\\u{7f}\\u{9b}2J'],
  ['\u202egnp.exe', '\\u{202e}gnp.exe'],
  ['a\u200bb\ufeff\u2028', 'a\\u{200b}b\\u{feff}\\u{2028}'],
  ['\ud800', '\\u{d800}'],
])('%j is shown as %s', (text, shown) => {
  expect(printable(text)).toBe(shown);
});

test('quotes cannot be closed by what stands in them', () => {
  expect(quote('a" is free; "b\\')).toBe('"a\\" is free; \\"b\\\\"');
});

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
