/** How figures, names and ends are written. */
import { describe, expect, test } from 'vitest';
import { endWords } from '../../page/data/ends.ts';
import {
  bytes,
  clock,
  duration,
  moment,
  ownerWords,
  percent,
  processWords,
  seconds,
  visible,
} from '../../page/data/words.ts';

test('a length of time has one or two units, and tenths only below ten seconds', () => {
  const lengths = [
    -5, 800, 9_940, 9_960, 41_000, 119_400, 120_000, 3_599_000, 3_600_000, 7_800_000, 86_400_000, 277_200_000,
  ];
  expect(lengths.map(duration)).toEqual([
    ...[
      '0.0 s',
      '0.8 s',
      '9.9 s',
      '10 s',
      '41 s',
      '119 s',
      '2 min',
      '59 min',
      '1 h',
      '2 h 10 min',
      '1 d',
      '3 d 5 h',
    ],
  ]);
});

test('a figure that counts has whole seconds, and never fewer than none', () => {
  expect([-400, 0, 999, 1_000, 59_999, 119_999, 120_000].map(seconds)).toEqual([
    ...['0 s', '0 s', '0 s', '1 s', '59 s', '119 s', '2 min'],
  ]);
});

test('the clock has 24 hours, and a moment of another day has its date', () => {
  const night = new Date(2026, 10, 18, 3, 2, 11).getTime();
  expect(clock(night)).toBe('03:02:11');
  expect(clock(new Date(2026, 10, 18, 15, 0, 0).getTime())).toBe('15:00:00');
  expect(moment(night, night + 60_000)).toBe('03:02:11');
  expect(moment(night, night + 86_400_000)).toBe('2026-11-18 03:02:11');
});

test('sizes and shares', () => {
  expect([0, 900, 1_536, 1.5e6, 2_147_483_648, 5e13].map(bytes)).toEqual([
    '0 B',
    '900 B',
    '1.5 KB',
    '1.4 MB',
    '2.0 GB',
    '45 TB',
  ]);
  expect(percent(0.956)).toBe('96 %');
});

describe('names', () => {
  test('a sign that cannot be seen or that turns text around is written out', () => {
    expect(visible('a\u202eb\u0000c\nd\u200be\u00a0f')).toBe('a\\u{202e}b\\u{0}c\\u{a}d\\u{200b}e\\u{a0}f');
    expect(visible('\ud800')).toBe('\\u{d800}');
    expect(visible('order:1001 größe 東京 🔒')).toBe('order:1001 größe 東京 🔒');
  });

  test('an owner without a record is told by its id', () => {
    const unknown = { app: null, host: null, pid: null, holder: '5f0c9a3e-1b1d:1' };
    expect(processWords(unknown)).toBeNull();
    expect(ownerWords(unknown)).toBe('session 5f0c9a3e…');
    expect(ownerWords({ ...unknown, app: 'billing', pid: 7 })).toBe('billing 7');
  });
});

test('an end says how sure it is, and to how many milliseconds', () => {
  expect(endWords({ end: 'expired', sure: 'yes', withinMs: 250 })).toBe('expired, to 250 ms');
  expect(endWords({ end: 'ran-out', sure: 'likely', withinMs: 1_000 })).toBe(
    'ran out (fixed lease), likely, to 1 s',
  );
  expect(endWords({ end: 'forced', sure: 'yes', withinMs: 0 })).toBe('taken away');
  expect(endWords({ end: 'unknown', sure: 'likely', withinMs: 9_000 })).toBe('end not known');
  expect(endWords({ end: null, sure: null, withinMs: null })).toBe('held now');
});
