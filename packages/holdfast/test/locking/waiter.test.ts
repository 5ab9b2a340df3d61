import { AsyncLocalStorage } from 'node:async_hooks';
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { LockAbortedError, LockTimeoutError } from '../../src/errors.ts';
import { Waiter } from '../../src/locking/waiting/waiter.ts';
import { type AcquireOptions, resolveAcquireOptions } from '../../src/options/acquire-options.ts';
import { resolveLocksOptions } from '../../src/options/options.ts';
import { LockProtocol } from '../../src/primitives/lock/protocol.ts';
import { TimerQueue } from '../../src/runtime/timer-queue.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { rejection } from '../support/rejection.ts';

function setup(options: AcquireOptions = {}): {
  clock: FakeClock;
  timers: TimerQueue;
  waiter: Waiter<string>;
} {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  const resolved = resolveAcquireOptions(options, resolveLocksOptions({}), false);
  return {
    clock,
    timers,
    waiter: new Waiter<string>(timers, new LockProtocol('a', 'a', 0), resolved, clock.monotonicMs()),
  };
}

describe('a waiter', () => {
  test('that aborts is told why, by whom and after how long', async () => {
    const controller = new AbortController();
    const { clock, waiter } = setup({ signal: controller.signal });
    const error = rejection(waiter.promise);
    clock.advanceSync(250);
    const reason = new Error('the request was cancelled');
    controller.abort(reason);
    const aborted = (await error) as LockAbortedError;
    expect(aborted).toBeInstanceOf(LockAbortedError);
    expect(aborted).toMatchObject({ lock: 'a', elapsedMs: 250, cause: reason });
    expect(aborted.message).toContain('"a": aborted after 250 ms');
  });

  test.each(['resolve', 'reject', 'abort'] as const)(
    'leaves no listener and no deadline after %s',
    async (ending) => {
      const controller = new AbortController();
      const { timers, waiter } = setup({ signal: controller.signal, waitMs: 1_000 });
      const settled = waiter.promise.catch(() => {});
      waiter.armTimeout(() => {});
      expect([getEventListeners(controller.signal, 'abort').length, timers.size]).toEqual([1, 1]);
      if (ending === 'resolve') waiter.resolve('in');
      else if (ending === 'reject') waiter.reject(new LockTimeoutError('no'));
      else controller.abort();
      await settled;
      expect([getEventListeners(controller.signal, 'abort').length, timers.size]).toEqual([0, 0]);
    },
  );

  test('is told that its time is over once, counted from when it came', async () => {
    const { clock, waiter } = setup({ waitMs: 100 });
    const toldMs: number[] = [];
    clock.advanceSync(40);
    waiter.armTimeout(() => toldMs.push(waiter.elapsedMs));
    waiter.armTimeout(() => toldMs.push(waiter.elapsedMs));
    expect([waiter.elapsedMs, waiter.remainingMs]).toEqual([40, 60]);
    await clock.advance(500);
    expect(toldMs).toEqual([100]);
  });

  test('holds the process while it has a limit and waits', () => {
    const { clock, waiter } = setup({ waitMs: 100 });
    waiter.armTimeout(() => {});
    expect(clock.refdTimers).toBe(1);
  });

  test('without a limit has no clock', () => {
    const { clock, timers, waiter } = setup();
    waiter.armTimeout(() => {});
    expect([timers.size, clock.pendingTimers]).toEqual([0, 0]);
    expect(waiter.remainingMs).toBe(Number.POSITIVE_INFINITY);
  });

  test('stays settled as it was first', async () => {
    const controller = new AbortController();
    const { waiter } = setup({ signal: controller.signal });
    waiter.resolve('in');
    controller.abort();
    waiter.reject(new LockTimeoutError('no'));
    expect(await waiter.promise).toBe('in');
  });

  test('continues in the async context of its caller', async () => {
    const context = new AsyncLocalStorage<string>();
    const { waiter } = setup();
    const caller = context.run('caller', async () => {
      await waiter.promise;
      return context.getStore();
    });
    context.run('somebody else', () => waiter.resolve('in'));
    expect(await caller).toBe('caller');
  });
});
