import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { printable, printableJson, quote } from '../../src/runtime/printable.ts';
import { SEED } from '../locking/support/seed.ts';
import { anyText, harmful } from '../support/any-text.ts';

/** Whatever a terminal, a log or a reader could be deceived with. */
const HARMFUL: readonly (readonly [what: string, text: string, shown: string])[] = [
  ['a line feed', 'a\nb', 'a\\u{a}b'],
  ['a carriage return', 'a\rb', 'a\\u{d}b'],
  ['a tab', 'a\tb', 'a\\u{9}b'],
  ['a NUL', 'a\u0000b', 'a\\u{0}b'],
  ['an escape sequence', '\u001b[2Jgone', '\\u{1b}[2Jgone'],
  ['a bell', '\u0007', '\\u{7}'],
  ['a DEL', '\u007f', '\\u{7f}'],
  ['an escape sequence of one C1 character', '\u009b31m', '\\u{9b}31m'],
  ['a next line', '\u0085', '\\u{85}'],
  ['a bidirectional override', '\u202etxt.exe', '\\u{202e}txt.exe'],
  ['a bidirectional isolate', '\u2066', '\\u{2066}'],
  ['a zero-width space', 'a\u200bb', 'a\\u{200b}b'],
  ['a byte order mark', '\ufeff', '\\u{feff}'],
  ['a soft hyphen', '\u00ad', '\\u{ad}'],
  ['a filler that looks like nothing', '\u3164', '\\u{3164}'],
  ['a tag', '\u{e0041}', '\\u{e0041}'],
  ['a line separator', '\u2028', '\\u{2028}'],
  ['a paragraph separator', '\u2029', '\\u{2029}'],
  ['half a surrogate pair', 'a\ud800b', 'a\\u{d800}b'],
  ['a character for private use', '\ue000', '\\u{e000}'],
  ['no character at all', '\uffff', '\\u{ffff}'],
];

describe('text from outside', () => {
  test.each(HARMFUL)('with %s is shown with an escape', (_, text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  test.each(['order:1', 'grün ✓ 𝄞', '订单', 'ордер', 'naïve', '❤️', '👍🏽', '"quoted" \\ and all', ''])(
    'that is only text stays as it is: %j',
    (text) => {
      expect(printable(text)).toBe(text);
    },
  );

  test('never has a character left that is not shown, whatever it was', () => {
    const unit = fc.oneof(
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
      fc.constantFrom(...HARMFUL.map(([, text]) => text)),
    );
    fc.assert(
      fc.property(fc.string({ unit }), fc.integer({ min: 1, max: 60 }), (text, maxLength) => {
        const shown = printable(text, maxLength);
        expect(shown).not.toMatch(/\p{C}|\p{Zl}|\p{Zp}/u);
        expect(shown.isWellFormed()).toBe(true);
        expect(shown.length).toBeLessThanOrEqual(maxLength);
        expect(shown.replace(/…$/, '')).not.toMatch(/\\u(\{[0-9a-f]*)?$/);
      }),
      { seed: SEED },
    );
  });

  test.each([
    ['abcdef', 6, 'abcdef'],
    ['abcdefg', 6, 'abcde…'],
    ['a\nb', 4, 'a…'],
    ['ab\n', 6, 'ab…'],
    ['a\nb', 7, 'a\\u{a}b'],
    ['𝄞𝄞𝄞', 4, '𝄞…'],
    ['x'.repeat(5_000_000), 3, 'xx…'],
  ])('ends with … where it is longer than asked for, between characters', (text, maxLength, shown) => {
    expect(printable(text, maxLength)).toBe(shown);
  });

  test('is bounded also where nobody says how', () => {
    expect(printable('x'.repeat(1024))).toBe('x'.repeat(1024));
    expect(printable('x'.repeat(1025))).toHaveLength(1024);
    expect(printable('\n'.repeat(1024)).length).toBeLessThanOrEqual(1024);
  });

  test('in quotes cannot close them', () => {
    expect(quote('a"; drop')).toBe('"a\\"; drop"');
    expect(quote('a\\')).toBe('"a\\\\"');
    expect(quote('a\n\u009b')).toBe('"a\\u{a}\\u{9b}"');
    expect(quote('"'.repeat(9), 4)).toBe('"\\"…"');
  });

  test('has nothing harmful in it, plain, quoted or in JSON, whatever it was', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        for (const shown of [printable(text), quote(text), printableJson({ [text]: text })])
          expect(harmful(shown)).toEqual([]);
      }),
      { numRuns: 2_000, seed: SEED },
    );
  });

  test('is read from the JSON by a program as it was put in', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(JSON.parse(printableJson({ text }))).toEqual({ text });
      }),
      { numRuns: 2_000, seed: SEED },
    );
  });

  test('is escaped in JSON by units of UTF-16, and what is no value is null', () => {
    expect(printableJson(['a\u009b', '\u{e0041}'])).toBe('["a\\u009b","\\udb40\\udc41"]');
    expect(printableJson(undefined)).toBe('null');
  });
});
