import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ServerClock } from '../../src/topologies/server-clock.ts';
import { SEED } from './support/seed.ts';

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
  });
});
