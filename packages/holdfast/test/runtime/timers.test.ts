import { describe, expect, test } from 'vitest';
import { TimerQueue } from '../../src/runtime/timer-queue.ts';
import { sleep, within } from '../../src/runtime/timers.ts';
import { FakeClock } from '../support/fake-clock.ts';

function setUp() {
  const clock = new FakeClock();
  return { clock, timers: new TimerQueue(clock) };
}

/** What a promise has come to so far. */
function watch(promise: Promise<unknown>): { outcome: string } {
  const seen = { outcome: 'pending' };
  promise.then(
    (value) => (seen.outcome = `resolved ${String(value)}`),
    (error: unknown) => (seen.outcome = `rejected ${String(error)}`),
  );
  return seen;
}

test('a sleep lasts as long as it says, and holds the process', async () => {
  const { clock, timers } = setUp();
  const seen = watch(sleep(timers, 100));
  await clock.advance(99);
  expect(seen.outcome).toBe('pending');
  expect(clock.refdTimers).toBe(1);
  await clock.advance(1);
  expect(seen.outcome).toBe('resolved undefined');
  expect(timers.size).toBe(0);
});

describe('a promise within a limit', () => {
  const late = () => 'too late';

  test.each([
    ['resolved answer', () => Promise.resolve('answer')],
    ['rejected Error: refused', () => Promise.reject(new Error('refused'))],
  ])('is %s when it settles in time, and leaves no timer', async (outcome, make) => {
    const { clock, timers } = setUp();
    const seen = watch(within(timers, make(), 100, late));
    expect(clock.refdTimers).toBe(1);
    await clock.settle();
    expect(seen.outcome).toBe(outcome);
    expect(timers.size).toBe(0);
  });

  test('is what the limit says when it takes longer, and a later rejection is nobody’s', async () => {
    const { clock, timers } = setUp();
    let fail: (error: Error) => void = () => {};
    const slow = new Promise<string>((_, reject) => (fail = reject));
    const seen = watch(within(timers, slow, 100, late));
    await clock.advance(99);
    expect(seen.outcome).toBe('pending');
    await clock.advance(1);
    expect(seen.outcome).toBe('resolved too late');
    fail(new Error('nobody waits for this'));
    await clock.settle();
    expect(seen.outcome).toBe('resolved too late');
  });

  test('rejects when the limit throws', async () => {
    const { clock, timers } = setUp();
    const never = new Promise<string>(() => {});
    const seen = watch(
      within(timers, never, 100, () => {
        throw new Error('no answer');
      }),
    );
    await clock.advance(100);
    expect(seen.outcome).toBe('rejected Error: no answer');
  });
});
