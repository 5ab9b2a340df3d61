/** Which rows are shown, and in which order. */
import { expect, test } from 'vitest';
import { arrange, type Choice, conditionOf } from '../../page/data/order.ts';
import type { Row } from '../../src/api/types.ts';
import { makeRow } from './support/scripted.ts';

const NOW = 1_800_000_000_000;
const ALL: Choice = { text: '', show: 'all', sort: 'trouble' };

function row(name: string, part: Partial<Row> = {}): Row {
  return makeRow(name, { grantedAt: NOW - 1_000, expiresAt: NOW + 10_000, ...part });
}

const ROWS = [
  row('c', { grantedAt: NOW - 700_000 }),
  row('b'),
  row('a'),
  row('line', { waiting: 2, firstWaitAt: NOW - 50_000, app: 'mailer' }),
  row('free', { kind: 'free', grantedAt: null, expiresAt: null, waiting: 1, firstWaitAt: NOW - 90_000 }),
  row('late', { late: true, expiresAt: NOW + 500 }),
  row('eternal', { eternal: true, expiresAt: null, waiting: 1, firstWaitAt: NOW - 5_000 }),
  row('split', { votes: { has: 2, of: 5 } }),
];

test('trouble: first what is wrong, then the longest first wait, then the longest hold, then the name', () => {
  expect(arrange(ROWS, ALL, NOW)).toEqual(['eternal', 'late', 'split', 'free', 'line', 'c', 'a', 'b']);
});

test('the order does not depend on the order of arrival', () => {
  for (const sort of ['trouble', 'name', 'held', 'time left', 'waiting'] as const) {
    expect(arrange([...ROWS].reverse(), { ...ALL, sort }, NOW)).toEqual(arrange(ROWS, { ...ALL, sort }, NOW));
  }
});

test('by time left the shortest comes first, and what has no end last', () => {
  const names = arrange(ROWS, { ...ALL, sort: 'time left' }, NOW);
  expect(names[0]).toBe('late');
  expect(names.slice(-2).sort()).toEqual(['eternal', 'free']);
});

test('each choice shows its rows', () => {
  const shown = (show: Choice['show']) => arrange(ROWS, { ...ALL, show, sort: 'name' }, NOW);
  expect(shown('waited for')).toEqual(['eternal', 'free', 'line']);
  expect(shown('late')).toEqual(['eternal', 'late', 'split']);
  expect(shown('long')).toEqual(['c']);
});

test('every word of the filter must be in the name or the owner, in any case', () => {
  const fit = (text: string) => arrange(ROWS, { ...ALL, text }, NOW);
  expect(fit('MAILER web')).toEqual(['line']);
  expect(fit('line billing')).toEqual([]);
  expect(fit('4711 late')).toEqual(['late']);
});

test('a minority of the votes is trouble, a majority is not', () => {
  expect(conditionOf(row('a', { votes: { has: 2, of: 5 } }), NOW)).toBe('split');
  expect(conditionOf(row('a', { votes: { has: 2, of: 4 } }), NOW)).toBe('split');
  expect(conditionOf(row('a', { votes: { has: 3, of: 5 } }), NOW)).toBe('ok');
  expect(conditionOf(row('a', { expiresAt: NOW - 1 }), NOW)).toBe('overdue');
});
