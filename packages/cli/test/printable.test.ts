/** Nothing that is printed can steer a terminal, whatever it is made of. The escapes are the library's, and tested there. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText, harmful } from '../../holdfast/test/support/any-text.ts';
import { type Line, render, styled } from '../src/output.ts';
import { printable, quote } from '../src/printable.ts';

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

test('nothing is cut, however long it is', () => {
  const long = 'x'.repeat(5_000);
  expect(printable(long)).toBe(long);
  expect(printable('\n'.repeat(2_000))).toBe('\\u{a}'.repeat(2_000));
  expect(quote(long)).toBe(`"${long}"`);
});
