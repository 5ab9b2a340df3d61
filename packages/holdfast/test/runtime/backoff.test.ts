import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Backoff } from '../../src/runtime/backoff.ts';
import { SEED } from '../locking/support/seed.ts';
import { CountedRandom } from '../locking/support/stage.ts';

const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('a back-off', () => {
  test('doubles from 20 ms to a second, each delay between half a step and a whole one', () => {
    fc.assert(
      fc.property(fc.array(fraction, { minLength: 12, maxLength: 12 }), (fractions) => {
        const drawn = [...fractions];
        const backoff = new Backoff(new CountedRandom(() => drawn.shift() ?? 0));
        const steps = [20, 40, 80, 160, 320, 640, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000];
        for (const stepMs of steps) {
          const delayMs = backoff.nextMs();
          expect(delayMs).toBeGreaterThanOrEqual(stepMs / 2);
          expect(delayMs).toBeLessThanOrEqual(stepMs);
        }
      }),
      { seed: SEED },
    );
  });

  test('starts over after a reset', () => {
    const backoff = new Backoff(new CountedRandom(() => 0));
    const first = [backoff.nextMs(), backoff.nextMs(), backoff.nextMs()];
    backoff.reset();
    expect([backoff.nextMs(), backoff.nextMs(), backoff.nextMs()]).toEqual(first);
    expect(first).toEqual([10, 20, 40]);
  });

  test('stays within a range of its own, and has no jitter without chance', () => {
    const backoff = new Backoff(null, { minMs: 500, maxMs: 1_800 });
    expect([backoff.nextMs(), backoff.nextMs(), backoff.nextMs(), backoff.nextMs()]).toEqual([
      500, 1_000, 1_800, 1_800,
    ]);
    backoff.reset();
    expect(backoff.nextMs()).toBe(500);
  });
});
