import { describe, expect, test } from 'vitest';
import { TIMER_MS_MAX } from '../../src/runtime/clock.ts';
import { FakeClock } from '../support/fake-clock.ts';

describe('a fake clock', () => {
  test('fires timers in the order of their times, each at its own time', async () => {
    const clock = new FakeClock({ monotonicMs: 0 });
    const fired: [string, number][] = [];
    const note = (name: string) => () => fired.push([name, clock.monotonicMs()]);
    clock.startTimer(30, note('c'));
    clock.startTimer(10, note('a'));
    clock.startTimer(10, note('b'));
    clock.startTimer(41, note('later'));
    await clock.advance(40);
    expect(fired).toEqual([
      ['a', 10],
      ['b', 10],
      ['c', 30],
    ]);
    expect(clock.monotonicMs()).toBe(40);
    expect(clock.nextTimerMs).toBe(1);
  });

  test('fires a timer that was armed on the way', async () => {
    const clock = new FakeClock();
    const start = clock.monotonicMs();
    const fired: number[] = [];
    const again = (): void => {
      fired.push(clock.monotonicMs() - start);
      clock.startTimer(10, again);
    };
    clock.startTimer(10, again);
    await clock.advance(35);
    expect(fired).toEqual([10, 20, 30]);
    expect(clock.pendingTimers).toBe(1);
  });

  test('lets what a timer set in motion settle before the next timer', async () => {
    const clock = new FakeClock();
    const order: string[] = [];
    clock.startTimer(1, async () => {
      for (let step = 0; step < 50; step += 1) await Promise.resolve();
      order.push('first has settled');
    });
    clock.startTimer(2, () => order.push('second'));
    await clock.advance(2);
    expect(order).toEqual(['first has settled', 'second']);
  });

  test('lets what is under way settle before time moves', async () => {
    const clock = new FakeClock();
    let hasFired = false;
    void Promise.resolve()
      .then(() => {})
      .then(() => clock.startTimer(5, () => (hasFired = true)));
    await clock.advance(5);
    expect(hasFired).toBe(true);
  });

  test('with a blocked event loop moves without firing, then fires what is overdue in order', async () => {
    const clock = new FakeClock({ monotonicMs: 0 });
    const fired: [string, number][] = [];
    clock.startTimer(20, () => fired.push(['b', clock.monotonicMs()]));
    clock.startTimer(10, () => fired.push(['a', clock.monotonicMs()]));
    clock.advanceSync(100);
    await clock.settle();
    expect(fired).toEqual([]);
    expect(clock.nextTimerMs).toBe(0);
    await clock.advance(0);
    expect(fired).toEqual([
      ['a', 100],
      ['b', 100],
    ]);
  });

  test('that is suspended moves the wall clock alone', async () => {
    const clock = new FakeClock({ monotonicMs: 5, wallMs: 1_000 });
    let hasFired = false;
    clock.startTimer(10, () => (hasFired = true));
    clock.suspend(60_000);
    await clock.advance(9);
    expect([clock.monotonicMs(), clock.wallMs(), hasFired]).toEqual([14, 61_009, false]);
    clock.jumpWall(-61_000);
    await clock.advance(1);
    expect([clock.monotonicMs(), clock.wallMs(), hasFired]).toEqual([15, 10, true]);
  });

  test('forgets a cancelled timer, even one due at the same moment', async () => {
    const clock = new FakeClock();
    const fired: string[] = [];
    clock.startTimer(10, () => {
      fired.push('first');
      second.cancel();
      second.cancel();
    });
    const second = clock.startTimer(10, () => fired.push('second'));
    await clock.advance(10);
    expect(fired).toEqual(['first']);
    expect(clock.pendingTimers).toBe(0);
    expect(clock.nextTimerMs).toBe(undefined);
  });

  test('knows which timers would keep a process alive', () => {
    const clock = new FakeClock();
    clock.startTimer(1, () => {});
    const timer = clock.startTimer(1, () => {});
    timer.unref();
    expect([clock.pendingTimers, clock.refdTimers]).toEqual([2, 1]);
    timer.ref();
    expect(clock.refdTimers).toBe(2);
  });

  test('refuses a delay that Node would turn into none, and time that runs backwards', async () => {
    const clock = new FakeClock();
    expect(() => clock.startTimer(TIMER_MS_MAX + 1, () => {})).toThrow(RangeError);
    expect(() => clock.startTimer(Number.NaN, () => {})).toThrow(RangeError);
    expect(() => clock.advanceSync(-1)).toThrow(RangeError);
    await expect(clock.advance(-1)).rejects.toThrow(RangeError);
  });
});
