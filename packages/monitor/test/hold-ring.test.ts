/** The ring of holds that have ended gives back what it was given, and forgets the oldest first. */
import { expect, test } from 'vitest';
import { HoldRing, type PastHold } from '../src/sampling/locks/hold-ring.ts';

function past(holder: string, to: number): PastHold {
  const who = JSON.stringify(['billing', 'web-3', 4711]);
  return { name: 'order', holder, who, from: to - 1, to, end: 'released', sure: 'yes', withinMs: 250 };
}

const UUID = '8743c9c0-0795-4907-87fd-6c719a6b4586';

test('holders are given back as they were, whatever stands after the last colon', () => {
  const ring = new HoldRing(100);
  const holders = [
    `${UUID}:1`,
    `${UUID}:0`,
    `${UUID}:007`,
    `${UUID}:999999999999999`,
    `${UUID}:99999999999999999999`,
    'f3b0c44298fc1c149afbf4c8996fb924',
    'a:b:12',
    'odd\nname:3',
    `${UUID}:`,
    ':5',
    '',
  ];
  for (const [at, holder] of holders.entries()) ring.add(past(holder, at + 1));
  expect(ring.of('order', 0, 100)).toEqual(holders.map((holder, at) => past(holder, at + 1)).reverse());
});

test('the newest are kept, and the oldest is forgotten for each that is too many', () => {
  const ring = new HoldRing(3);
  for (let at = 1; at <= 5; at += 1) ring.add(past(`${UUID}:${at}`, at));
  expect(ring.of('order', 0, 100).map(({ holder }) => holder)).toEqual(
    [5, 4, 3].map((at) => `${UUID}:${at}`),
  );
  expect(ring.since).toBe(3);
});
