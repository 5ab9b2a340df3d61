/** The check of the other tests: a journal in which two owners overlap must not pass. */
import { expect, test } from 'vitest';
import { turnsOf } from './support/journal.ts';

const A = ['enter a 1 7', 'leave a 2 0'] as const;
const B = ['enter b 3 8', 'leave b 4 0'] as const;

test('turns one after the other are read in their order', () => {
  expect(turnsOf([...A, ...B])).toEqual([
    { who: 'a', enteredMs: 1, leftMs: 2, fence: 7 },
    { who: 'b', enteredMs: 3, leftMs: 4, fence: 8 },
  ]);
});

test.each([
  ['that overlap', [A[0], B[0], A[1], B[1]]],
  ['of which one lies inside the other', [A[0], B[0], B[1], A[1]]],
  ['of two callers with one name', [A[0], A[0], A[1], A[1]]],
  ['of which the last has no end', [...A, B[0]]],
])('turns %s are a violation', (_, lines) => {
  expect(() => turnsOf(lines)).toThrow(expect.objectContaining({ name: 'Violation' }));
});
