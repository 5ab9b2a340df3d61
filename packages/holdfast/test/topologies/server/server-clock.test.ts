import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { middleMicros, middleMs, ServerClock } from '../../../src/topologies/server/server-clock.ts';
import { SEED } from '../../locking/support/seed.ts';

describe('what we know of the server clock', () => {
  test('is nothing before the first reply', () => {
    expect(new ServerClock().at(1_000)).toBe(0);
  });

  test('is never later than the truth, and behind by no more than the reply took', () => {
    const sample = fc.record({
      gapMs: fc.double({ min: 0, max: 60_000, noNaN: true }),
      travelMs: fc.double({ min: 0, max: 5_000, noNaN: true }),
      askedMs: fc.double({ min: 0, max: 60_000, noNaN: true }),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1_600_000_000_000, max: 2_000_000_000_000 }),
        fc.array(sample, { minLength: 1, maxLength: 20 }),
        (offsetMs, samples) => {
          const serverClock = new ServerClock();
          let nowMs = 1_000;
          for (const { gapMs, travelMs, askedMs } of samples) {
            nowMs += gapMs;
            const toldMs = Math.floor(nowMs + offsetMs);
            nowMs += travelMs;
            serverClock.learn(toldMs, nowMs);
            const atMs = nowMs + askedMs;
            const truthMs = atMs + offsetMs;
            expect(serverClock.at(atMs)).toBeLessThanOrEqual(truthMs);
            // What is rounded: the server's answer and ours, down to a whole millisecond each.
            expect(serverClock.at(atMs)).toBeGreaterThan(truthMs - travelMs - 2.01);
            expect(Number.isInteger(serverClock.at(atMs))).toBe(true);
            const micros = serverClock.microsAt(atMs);
            expect(Number.isInteger(micros)).toBe(true);
            if (askedMs > 10_000) expect(micros).toBe(0);
            else {
              // Also when our clock has gained as much on the server's as a clock that is kept right may.
              expect(micros).toBeLessThanOrEqual((truthMs - askedMs * 0.0005) * 1_000 + 1);
              expect(micros).toBeGreaterThan((truthMs - travelMs - askedMs * 0.0005 - 1.01) * 1_000);
            }
          }
        },
      ),
      { seed: SEED },
    );
  });

  test('is never the nought that stands for unknown', () => {
    const serverClock = new ServerClock();
    serverClock.learn(5, 1_000);
    expect(serverClock.at(0)).toBe(1);
    expect(serverClock.microsAt(0)).toBe(1);
  });

  test('is asked for again when it is old, or in doubt', () => {
    const serverClock = new ServerClock();
    expect(serverClock.isStale(1_000)).toBe(true);
    serverClock.learn(1_700_000_000_000, 1_000);
    expect([serverClock.isStale(11_000), serverClock.isStale(11_001)]).toEqual([false, true]);
    serverClock.doubt();
    expect(serverClock.isStale(1_000)).toBe(true);
    expect(serverClock.at(1_000)).toBe(1_700_000_000_000);
    serverClock.learn(1_700_000_000_000, 1_000);
    expect(serverClock.isStale(1_000)).toBe(false);
  });

  test('is old when its owner says so', () => {
    const serverClock = new ServerClock(1_000);
    serverClock.learn(1_700_000_000_000, 1_000);
    expect([serverClock.isStale(2_000), serverClock.isStale(2_001)]).toEqual([false, true]);
  });

  test('tells moments apart that are microseconds apart', () => {
    const serverClock = new ServerClock();
    serverClock.learn(1_700_000_000_000, 1_000);
    expect(serverClock.microsAt(1_000.5)).toBe(1_700_000_000_000_499);
    expect(serverClock.microsAt(1_000.504)).toBe(1_700_000_000_000_503);
  });
});

describe('the middle of several clocks', () => {
  const HOUR_MS = 3_600_000;

  function clocks(...offsetsMs: readonly (number | null)[]): ServerClock[] {
    return offsetsMs.map((offsetMs) => {
      const clock = new ServerClock();
      if (offsetMs !== null) clock.learn(1_700_000_000_000 + offsetMs, 1_000);
      return clock;
    });
  }

  test.each<[string, readonly (number | null)[], number | null]>([
    ['one', [3], 3],
    ['the lower one of two', [5, 3], 3],
    ['the middle one of three', [5, 1, 3], 3],
    ['not those of a minority that is far off', [HOUR_MS, 4, HOUR_MS, 3, 2], 4],
    ['only of those that are known', [null, 4, null, 3, 2], 3],
    ['nothing when none is known', [null, null, null], null],
  ])('is %s', (_, offsetsMs, expectedMs) => {
    const expected = expectedMs === null ? 0 : (1_700_000_000_000 + expectedMs) * 1_000;
    expect(middleMicros(clocks(...offsetsMs), 1_000)).toBe(expected);
  });
});

test('the middle in milliseconds is known however long ago the servers said their time', () => {
  const clocks = [5_000, 1_000, 3_000].map((serverMs) => {
    const clock = new ServerClock();
    clock.learn(serverMs, 0);
    return clock;
  });
  expect(middleMs([...clocks, new ServerClock()], 60_000)).toBe(63_000);
  expect(middleMicros(clocks, 60_000)).toBe(0);
  expect(middleMs([new ServerClock()], 60_000)).toBe(0);
});
