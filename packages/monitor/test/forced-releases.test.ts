/** Which ends of holds are put down to a release by force: those that it made, and no other. */
import { expect, test } from 'vitest';
import { ForcedReleases, type HoldEnd } from '../src/audit/forced-releases.ts';

const ASKED_MS = 100_000;
const DONE_MS = 100_010;

/** The end of a hold that a look missed half a second after another had seen it, as the release was done in between. */
function end(given: Partial<HoldEnd> = {}): HoldEnd {
  return { name: 'order', holder: 'a:1', server: 's1', seenMs: 99_700, goneMs: 100_200, ...given };
}

/** `null`: the trail has no end of the release. */
function released(result: string | null = 'released from a:1'): ForcedReleases {
  const releases = new ForcedReleases();
  releases.asked('id', 'order', 'a:1', ASKED_MS);
  if (result !== null) releases.done('id', result, DONE_MS);
  return releases;
}

test('the end between its two entries is that of the release, of this hold only', () => {
  expect(released().take(end())).toBe(true);
  expect(released(null).take(end())).toBe(true);
  expect(released().take(end({ holder: 'a:2' }))).toBe(false);
  expect(released().take(end({ name: 'other' }))).toBe(false);
});

test.each(['not done: somebody else holds it by now', 'nobody held it'])(
  'a release that took nothing made no end: %s',
  (result) => {
    expect(released(result).take(end())).toBe(false);
  },
);

test('one release makes one end, and in a quorum one on each server', () => {
  const releases = released();
  expect(['s1', 's2', 's3'].map((server) => releases.take(end({ server })))).toEqual([true, true, true]);
  expect(releases.take(end({ seenMs: 100_300, goneMs: 100_800 }))).toBe(false);
  releases.asked('again', 'order', 'a:1', 100_500);
  expect(releases.take(end({ seenMs: 100_300, goneMs: 100_800 }))).toBe(true);
});

test.each([
  ['a hold that was seen long after the release was done', released(), { seenMs: 103_000, goneMs: 104_000 }],
  ['a hold that was gone long before it was asked', released(), { seenMs: 95_000, goneMs: 96_000 }],
  ['a hold that was seen a minute after a release without an end', released(null), { seenMs: 170_000 }],
])('%s ended otherwise', (_what, releases, given) => {
  expect(releases.take(end({ goneMs: 180_000, ...given }))).toBe(false);
  expect(releases.take(end())).toBe(true);
});

test('clocks of servers that are a second apart do not hide a release', () => {
  expect(released().take(end({ seenMs: 101_000, goneMs: 101_500 }))).toBe(true);
  expect(released().take(end({ seenMs: 98_500, goneMs: 99_000 }))).toBe(true);
});

test('a refusal counts before it is written, and when it is read before what was asked', () => {
  const written = released(null);
  written.done('id', 'not done: timeout', null);
  expect(written.take(end())).toBe(false);
  const read = new ForcedReleases();
  read.done('id', 'not done: timeout', DONE_MS);
  read.asked('id', 'order', 'a:1', ASKED_MS);
  expect(read.take(end())).toBe(false);
});

test('of two operators who ask at once one is refused, and the other made the end', () => {
  const releases = released();
  releases.asked('second', 'order', 'a:1', ASKED_MS + 1);
  releases.done('second', 'not done: nobody holds it', DONE_MS + 1);
  expect(releases.take(end())).toBe(true);
});
