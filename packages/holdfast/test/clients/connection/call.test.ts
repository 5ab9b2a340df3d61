import { describe, expect, test } from 'vitest';
import { Call } from '../../../src/clients/connection/call.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { echo } from '../scripts.ts';
import { FakeDriver } from './fake-driver.ts';

function setUp() {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  const driver = new FakeDriver();
  void driver.dial({ lost: () => {}, message: () => {}, dropped: () => {} }, new AbortController().signal);
  return { clock, timers, raw: driver.raw };
}

describe('a call whose deadline passes', () => {
  test.each([
    ['unknown', 'no answer within 500 ms', true],
    ['unreachable', 'no connection within 500 ms', false],
  ])('is %s, also with a fraction of a millisecond for a limit: %s', async (kind, text, isWritten) => {
    const { clock, timers, raw } = setUp();
    const call = new Call(echo('x'), { timeoutMs: 499.95093799999995 }, timers);
    if (isWritten) call.markWritten(raw);
    call.arm();
    await clock.advance(500);
    expect(await call.result).toMatchObject({ kind, text });
  });

  test('counts from when it was made, not from when its deadline was set', async () => {
    const { clock, timers } = setUp();
    const call = new Call(echo('x'), { timeoutMs: 100 }, timers);
    await clock.advance(60);
    call.arm();
    await clock.advance(39);
    expect(call.hasEnded).toBe(false);
    await clock.advance(1);
    expect(call.hasEnded).toBe(true);
  });
});

describe('a call', () => {
  test('ends once: what comes later is ignored, and its deadline is gone', async () => {
    const { timers } = setUp();
    const call = new Call(echo('x'), { timeoutMs: 100 }, timers);
    call.arm();
    call.end('first');
    call.end('second');
    expect(await call.result).toBe('first');
    expect(timers.size).toBe(0);
    call.arm();
    expect(timers.size).toBe(0);
  });

  test.each([
    [true, 1],
    [false, 0],
  ])('holds the process by its deadline if it is to (%s)', (keepsAlive, refdTimers) => {
    const { clock, timers } = setUp();
    new Call(echo('x'), { timeoutMs: 100, keepsAlive }, timers).arm();
    expect(clock.refdTimers).toBe(refdTimers);
    expect(timers.size).toBe(1);
  });
});
