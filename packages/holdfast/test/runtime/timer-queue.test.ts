import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TIMER_MS_MAX } from '../../src/runtime/clock.ts';
import { Deadline, TimerQueue } from '../../src/runtime/timer-queue.ts';
import { SEED } from '../locking/support/seed.ts';
import { FakeClock } from '../support/fake-clock.ts';

function setup(): {
  clock: FakeClock;
  timers: TimerQueue;
  rung: string[];
  deadline(name: string, holds?: boolean): Deadline;
} {
  const clock = new FakeClock();
  const rung: string[] = [];
  const startedMs = clock.monotonicMs();
  const deadline = (name: string, holds = false): Deadline =>
    new Deadline(() => rung.push(`${name} at ${clock.monotonicMs() - startedMs}`), holds);
  return { clock, timers: new TimerQueue(clock), rung, deadline };
}

describe('an timers', () => {
  test('fires each deadline at its time, in order, behind one timer', async () => {
    const { clock, timers, rung, deadline } = setup();
    timers.setIn(deadline('c'), 30);
    timers.setIn(deadline('a'), 10);
    timers.setIn(deadline('b'), 20);
    expect([clock.pendingTimers, timers.size]).toEqual([1, 3]);
    await clock.advance(15);
    expect([clock.pendingTimers, timers.size]).toEqual([1, 2]);
    await clock.advance(100);
    expect(rung).toEqual(['a at 10', 'b at 20', 'c at 30']);
    expect([clock.pendingTimers, timers.size]).toEqual([0, 0]);
  });

  test('never fires early, and less than a millisecond late when its times are fractions', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0, max: 500, noNaN: true }), { maxLength: 40 }),
        async (delays) => {
          const clock = new FakeClock();
          const timers = new TimerQueue(clock);
          const lateness: number[] = [];
          for (const delayMs of delays) {
            const dueMs = clock.monotonicMs() + delayMs;
            timers.setAt(new Deadline(() => lateness.push(clock.monotonicMs() - dueMs), false), dueMs);
          }
          await clock.advance(501);
          expect(lateness).toHaveLength(delays.length);
          expect(lateness.every((lateMs) => lateMs >= 0 && lateMs < 1)).toBe(true);
        },
      ),
      { seed: SEED, numRuns: 50 },
    );
  });

  test('moves a deadline that is set again, both ways', async () => {
    const { clock, timers, rung, deadline } = setup();
    const [sooner, later] = [deadline('sooner'), deadline('later')];
    timers.setIn(sooner, 50);
    timers.setIn(later, 10);
    timers.setIn(sooner, 20);
    timers.setIn(later, 40);
    await clock.advance(100);
    expect(rung).toEqual(['sooner at 20', 'later at 40']);
  });

  test('reaches a deadline further away than any timer by steps', async () => {
    const { clock, timers, rung, deadline } = setup();
    const farMs = 2 * TIMER_MS_MAX + 5_000;
    timers.setIn(deadline('far'), farMs);
    expect(clock.nextTimerMs).toBe(TIMER_MS_MAX);
    await clock.advance(farMs - 1);
    expect(rung).toEqual([]);
    await clock.advance(1);
    expect(rung).toEqual([`far at ${farMs}`]);
  });

  test('fires a near deadline on time while the timer steps towards a far one', async () => {
    const { clock, timers, rung, deadline } = setup();
    timers.setIn(deadline('far'), 3 * TIMER_MS_MAX);
    timers.setIn(deadline('near'), 7);
    await clock.advance(7);
    expect(rung).toEqual(['near at 7']);
  });

  test('does not fire a cancelled deadline, and takes a second cancel for done', async () => {
    const { clock, timers, rung, deadline } = setup();
    const [first, second] = [deadline('first', true), deadline('second')];
    timers.setIn(first, 5);
    timers.setIn(second, 6);
    timers.cancel(first);
    timers.cancel(first);
    await clock.advance(10);
    expect(rung).toEqual(['second at 6']);
    expect([timers.size, clock.refdTimers]).toEqual([0, 0]);
  });

  test('goes on with the others when a deadline throws', async () => {
    const { clock, timers, rung, deadline } = setup();
    const bad = new Deadline(() => {
      throw new Error('a bad callback');
    }, true);
    timers.setIn(bad, 5);
    timers.setIn(deadline('same time'), 5);
    timers.setIn(deadline('later'), 8);
    await expect(clock.advance(10)).rejects.toThrow('a bad callback');
    await clock.advance(10);
    expect(rung).toEqual(['same time at 5', 'later at 8']);
    expect(clock.refdTimers).toBe(0);
  });

  test('fires a deadline that another one sets on the way', async () => {
    const { clock, timers, rung, deadline } = setup();
    const next = deadline('next');
    timers.setIn(new Deadline(() => timers.setIn(next, 10), false), 5);
    await clock.advance(15);
    expect(rung).toEqual(['next at 15']);
  });

  test('holds the process exactly while a deadline does that says so', async () => {
    const { clock, timers, deadline } = setup();
    const [quiet, holding] = [deadline('quiet'), deadline('holding', true)];
    timers.setIn(quiet, 100);
    expect([clock.pendingTimers, clock.refdTimers]).toEqual([1, 0]);
    timers.setIn(holding, 50);
    expect([clock.pendingTimers, clock.refdTimers]).toEqual([1, 1]);
    timers.setIn(holding, 60);
    timers.cancel(holding);
    expect(clock.refdTimers).toBe(0);
    timers.setIn(holding, 20);
    expect(clock.refdTimers).toBe(1);
    await clock.advance(20);
    expect([clock.pendingTimers, clock.refdTimers]).toEqual([1, 0]);
  });

  test('that is retired still fires what is set, and drops its timer with the last deadline', async () => {
    const { clock, timers, rung, deadline } = setup();
    const [awaited, dropped] = [deadline('awaited', true), deadline('dropped')];
    timers.setIn(awaited, 5);
    timers.setIn(dropped, 50);
    timers.retire();
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(5);
    expect(rung).toEqual(['awaited at 5']);
    timers.cancel(dropped);
    expect([timers.size, clock.pendingTimers]).toEqual([0, 0]);
  });

  test('that is retired with nothing set has no timer', () => {
    const { clock, timers, deadline } = setup();
    const only = deadline('only', true);
    timers.setIn(only, 5);
    timers.cancel(only);
    expect(clock.pendingTimers).toBe(1);
    timers.retire();
    expect(clock.pendingTimers).toBe(0);
  });

  test('leaves its timer alone when deadlines come and go behind the earliest', () => {
    const { clock, timers, deadline } = setup();
    const startTimer = clock.startTimer.bind(clock);
    let started = 0;
    clock.startTimer = (delayMs, fire) => {
      started += 1;
      return startTimer(delayMs, fire);
    };
    timers.setIn(deadline('earliest'), 10);
    for (let i = 0; i < 1_000; i += 1) {
      const other = deadline('other', true);
      timers.setIn(other, 20);
      timers.cancel(other);
    }
    expect(started).toBe(1);
  });

  test('refuses a time that is none', () => {
    const { timers, deadline } = setup();
    expect(() => timers.setAt(deadline('never'), Number.POSITIVE_INFINITY)).toThrow('finite');
    expect(() => timers.setAt(deadline('nonsense'), Number.NaN)).toThrow('finite');
  });
});
