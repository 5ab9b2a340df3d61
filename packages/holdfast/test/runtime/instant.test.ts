import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LEASE_MS_MAX, LEASE_MS_MIN } from '../../src/options/options.ts';
import { driftMs, instantNow, leaseDeadline, remainingAt } from '../../src/runtime/instant.ts';
import { SEED } from '../locking/support/seed.ts';
import { FakeClock } from '../support/fake-clock.ts';

const leaseMs = fc.integer({ min: 1, max: LEASE_MS_MAX });
const shiftMs = fc.integer({ min: 0, max: 10_000_000 });

describe('a deadline', () => {
  test('is the sending time and the lease, less one per cent and two milliseconds', () => {
    const clock = new FakeClock({ monotonicMs: 5_000, wallMs: 77_000 });
    expect(driftMs(1_000)).toBe(12);
    expect(leaseDeadline(instantNow(clock), 1_000)).toEqual({ monotonicMs: 5_988, wallMs: 77_988 });
    expect(leaseDeadline(instantNow(clock), 30_000)).toEqual({ monotonicMs: 34_698, wallMs: 106_698 });
  });

  test('lies before the end of the lease on the server, whatever the lease', () => {
    fc.assert(
      fc.property(leaseMs, (lease) => {
        const sentAt = instantNow(new FakeClock());
        const deadline = leaseDeadline(sentAt, lease);
        expect(deadline.monotonicMs).toBeLessThanOrEqual(sentAt.monotonicMs + lease * 0.99 - 1.9);
        // The monotonic one in whole milliseconds, and never the later for it.
        expect(Number.isInteger(deadline.monotonicMs)).toBe(true);
        const shorterMs = deadline.wallMs - sentAt.wallMs - (deadline.monotonicMs - sentAt.monotonicMs);
        expect(shorterMs).toBeGreaterThan(-0.001);
        expect(shorterMs).toBeLessThan(1);
      }),
      { seed: SEED },
    );
  });

  test('of the smallest lease is ahead of its sending, and of the next smaller one it need not be', () => {
    const leftMs = (monotonicMs: number, lease: number): number =>
      leaseDeadline({ monotonicMs, wallMs: 0 }, lease).monotonicMs - monotonicMs;
    const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fraction, (ms) => leftMs(5_000 + ms, LEASE_MS_MIN) > 0),
      { seed: SEED },
    );
    expect(leftMs(5_000, LEASE_MS_MIN - 1)).toBe(0);
  });

  test('has passed as soon as either clock says so', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000, max: 1_000_000 }),
        shiftMs,
        shiftMs,
        (lease, awakeMs, asleepMs) => {
          const clock = new FakeClock();
          const deadline = leaseDeadline(instantNow(clock), lease);
          const wholeMs = remainingAt(deadline, instantNow(clock));
          clock.advanceSync(awakeMs);
          clock.suspend(asleepMs);
          const leftMs = wholeMs - awakeMs - asleepMs;
          expect(remainingAt(deadline, instantNow(clock))).toBeGreaterThan(leftMs - 0.001);
          expect(remainingAt(deadline, instantNow(clock))).toBeLessThan(leftMs + 1);
        },
      ),
      { seed: SEED },
    );
  });

  test('comes no later when somebody sets the wall clock back', () => {
    const clock = new FakeClock();
    const deadline = leaseDeadline(instantNow(clock), 1_000);
    clock.jumpWall(-3_600_000);
    clock.advanceSync(500);
    expect(remainingAt(deadline, instantNow(clock))).toBe(488);
  });
});
