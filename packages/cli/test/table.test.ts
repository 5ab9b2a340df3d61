/** Tables line up and fit, also with names that are long, wide, or both. */
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { LOCK_COLUMNS, type LockView } from '../src/locks/lock-view.ts';
import type { Line } from '../src/output.ts';
import { cut, cutLine, renderTable } from '../src/table.ts';

function textOf(line: Line): string {
  const spans = typeof line === 'string' ? [line] : line;
  return spans.map((span) => (typeof span === 'string' ? span : span.text)).join('');
}

const VIEW: LockView = {
  name: 'orders:1',
  kind: 'lock',
  owner: '8743c9c0-0795-4907-87fd-6c719a6b4586:41',
  session: '8743c9c0-0795-4907-87fd-6c719a6b4586',
  application: 'billing',
  host: 'db-7.eu-west-1.example.com',
  pid: 12_345,
  heldForMs: 61_000,
  isHeldForExact: true,
  leftMs: 29_000,
  holdCount: 1,
  fence: 1_763_418_000_123_456,
  mayLinger: false,
  waiters: 12,
  guests: 2,
  line: [
    {
      place: 1,
      session: '1b0b5bb1-9f3c-8a2e-9c05-7d1e2f3a4b5c',
      application: 'billing',
      host: 'db-8.eu-west-1.example.com',
      pid: 54_321,
      waitedMs: 4_200,
      isListening: false,
    },
  ],
};

const NAMES = [
  'orders:1',
  `${'a'.repeat(134)}z`,
  `${'注文'.repeat(60)}末`,
  '👩🏽‍🚀🇯🇵👍🏽'.repeat(20),
  'e\u0301'.repeat(200),
  'evil\u001b[2J\nname',
];

const rows = NAMES.map((name) => ({ ...VIEW, name }));
const table = (width?: number): string[] => renderTable(rows, LOCK_COLUMNS, width).map(textOf);

describe.each([44, 60, 80, 100, 140, 200])('on a terminal of %i columns', (width) => {
  test('no line is wider than it', () => {
    for (const line of table(width)) expect(stringWidth(line)).toBeLessThanOrEqual(width);
  });

  test('the column after the name begins at the same place in each line', () => {
    const [titles = '', ...lines] = table(width);
    const at = /KIND|OWNER/.exec(titles)?.index;
    for (const line of lines) {
      const [, before = ''] = /^(.*?)(billing|lock) /.exec(line) ?? [];
      expect(stringWidth(before)).toBe(at);
    }
  });
});

test.each([1, 2, 10, 30])('on one of %i columns, too few for any table, no line is wider either', (width) => {
  for (const line of table(width)) expect(stringWidth(line)).toBeLessThanOrEqual(width);
});

test('a name that is cut keeps its beginning and its end', () => {
  const [, , long = ''] = table(100);
  expect(long).toMatch(/^a+…a+z {2}/);
});

test('where there is no room, the less important columns are left out first', () => {
  const titles = (width: number): string[] => (table(width)[0] ?? '').trim().split(/ {2,}/);
  expect(titles(300)).toEqual(['NAME', 'KIND', 'OWNER', 'HELD', 'LEFT', 'COUNT', 'FENCE', 'WAITERS', 'NEXT']);
  expect(titles(100)).toEqual(['NAME', 'KIND', 'OWNER', 'HELD', 'LEFT', 'COUNT', 'FENCE', 'WAITERS']);
  expect(titles(80)).toEqual(['NAME', 'KIND', 'OWNER', 'HELD', 'LEFT', 'COUNT', 'WAITERS']);
  expect(titles(60)).toEqual(['NAME', 'KIND', 'OWNER', 'HELD', 'LEFT', 'WAITERS']);
  expect(titles(54)).toEqual(['NAME', 'OWNER', 'HELD', 'LEFT', 'WAITERS']);
  expect(titles(44)).toEqual(['NAME', 'OWNER', 'HELD', 'LEFT']);
});

test('those who wait are counted, and the one that comes next is named', () => {
  const [, first = ''] = table();
  expect(first).toMatch(
    / 12\+2 {2}billing on db-8\.eu-west-1\.example\.com, process 54321 \(4\.2s, does not listen\)$/,
  );
});

test('in a pipe nothing is cut', () => {
  expect(table().join('\n')).toContain(`${'a'.repeat(134)}z  `);
});

test.each([
  ['abcdef', 6, 'abcdef'],
  ['abcdef', 5, 'abcd…'],
  ['日本語', 6, '日本語'],
  ['日本語', 5, '日本…'],
  ['日本語', 4, '日…'],
  ['👍🏽👍🏽👍🏽', 5, '👍🏽👍🏽…'],
  ['e\u0301e\u0301e\u0301', 2, 'e\u0301…'],
  ['abc', 1, '…'],
  ['abc', 0, ''],
])('%s cut to %i columns is %s', (text, width, shown) => {
  expect(cut(text, width)).toBe(shown);
});

test('a line of several colours is cut as a whole', () => {
  const line: Line = ['ab', { style: 'red', text: '日本' }, 'cd'];
  expect(textOf(cutLine(line, 8))).toBe('ab日本cd');
  expect(textOf(cutLine(line, 5))).toBe('ab日…');
});
