import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Agenda, Alarm } from '../../src/core/agenda.ts';
import { TIMER_MS_MAX } from '../../src/core/clock.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { SEED } from './support/seed.ts';

function setup(): {
  clock: FakeClock;
  agenda: Agenda;
  rung: string[];
  alarm(name: string, holds?: boolean): Alarm;
} {
  const clock = new FakeClock();
  const rung: string[] = [];
  const startedMs = clock.monotonicMs();
  const alarm = (name: string, holds = false): Alarm =>
    new Alarm(() => rung.push(`${name} at ${clock.monotonicMs() - startedMs}`), holds);
  return { clock, agenda: new Agenda(clock), rung, alarm };
}

describe('an agenda', () => {
  test('rings each alarm at its time, in order, behind one timer', async () => {
    const { clock, agenda, rung, alarm } = setup();
    agenda.setIn(alarm('c'), 30);
    agenda.setIn(alarm('a'), 10);
    agenda.setIn(alarm('b'), 20);
    expect([clock.pendingTimers, agenda.size]).toEqual([1, 3]);
    await clock.advance(15);
    expect([clock.pendingTimers, agenda.size]).toEqual([1, 2]);
    await clock.advance(100);
    expect(rung).toEqual(['a at 10', 'b at 20', 'c at 30']);
    expect([clock.pendingTimers, agenda.size]).toEqual([0, 0]);
  });

  test('never rings early, and less than a millisecond late when its times are fractions', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0, max: 500, noNaN: true }), { maxLength: 40 }),
        async (delays) => {
          const clock = new FakeClock();
          const agenda = new Agenda(clock);
          const lateness: number[] = [];
          for (const delayMs of delays) {
            const dueMs = clock.monotonicMs() + delayMs;
            agenda.setAt(new Alarm(() => lateness.push(clock.monotonicMs() - dueMs), false), dueMs);
          }
          await clock.advance(501);
          expect(lateness).toHaveLength(delays.length);
          expect(lateness.every((lateMs) => lateMs >= 0 && lateMs < 1)).toBe(true);
        },
      ),
      { seed: SEED, numRuns: 50 },
    );
  });

  test('moves an alarm that is set again, both ways', async () => {
    const { clock, agenda, rung, alarm } = setup();
    const [sooner, later] = [alarm('sooner'), alarm('later')];
    agenda.setIn(sooner, 50);
    agenda.setIn(later, 10);
    agenda.setIn(sooner, 20);
    agenda.setIn(later, 40);
    await clock.advance(100);
    expect(rung).toEqual(['sooner at 20', 'later at 40']);
  });

  test('reaches an alarm further away than any timer by steps', async () => {
    const { clock, agenda, rung, alarm } = setup();
    const farMs = 2 * TIMER_MS_MAX + 5_000;
    agenda.setIn(alarm('far'), farMs);
    expect(clock.nextTimerMs).toBe(TIMER_MS_MAX);
    await clock.advance(farMs - 1);
    expect(rung).toEqual([]);
    await clock.advance(1);
    expect(rung).toEqual([`far at ${farMs}`]);
  });

  test('rings a near alarm on time while the timer steps towards a far one', async () => {
    const { clock, agenda, rung, alarm } = setup();
    agenda.setIn(alarm('far'), 3 * TIMER_MS_MAX);
    agenda.setIn(alarm('near'), 7);
    await clock.advance(7);
    expect(rung).toEqual(['near at 7']);
  });

  test('does not ring a cancelled alarm, and takes a second cancel for done', async () => {
    const { clock, agenda, rung, alarm } = setup();
    const [first, second] = [alarm('first', true), alarm('second')];
    agenda.setIn(first, 5);
    agenda.setIn(second, 6);
    agenda.cancel(first);
    agenda.cancel(first);
    await clock.advance(10);
    expect(rung).toEqual(['second at 6']);
    expect([agenda.size, clock.refdTimers]).toEqual([0, 0]);
  });

  test('goes on with the others when an alarm throws', async () => {
    const { clock, agenda, rung, alarm } = setup();
    const bad = new Alarm(() => {
      throw new Error('a bad callback');
    }, true);
    agenda.setIn(bad, 5);
    agenda.setIn(alarm('same time'), 5);
    agenda.setIn(alarm('later'), 8);
    await expect(clock.advance(10)).rejects.toThrow('a bad callback');
    await clock.advance(10);
    expect(rung).toEqual(['same time at 5', 'later at 8']);
    expect(clock.refdTimers).toBe(0);
  });

  test('rings an alarm that another one sets on the way', async () => {
    const { clock, agenda, rung, alarm } = setup();
    const next = alarm('next');
    agenda.setIn(new Alarm(() => agenda.setIn(next, 10), false), 5);
    await clock.advance(15);
    expect(rung).toEqual(['next at 15']);
  });

  test('holds the process exactly while an alarm does that says so', async () => {
    const { clock, agenda, alarm } = setup();
    const [quiet, holding] = [alarm('quiet'), alarm('holding', true)];
    agenda.setIn(quiet, 100);
    expect([clock.pendingTimers, clock.refdTimers]).toEqual([1, 0]);
    agenda.setIn(holding, 50);
    expect([clock.pendingTimers, clock.refdTimers]).toEqual([1, 1]);
    agenda.setIn(holding, 60);
    agenda.cancel(holding);
    expect(clock.refdTimers).toBe(0);
    agenda.setIn(holding, 20);
    expect(clock.refdTimers).toBe(1);
    await clock.advance(20);
    expect([clock.pendingTimers, clock.refdTimers]).toEqual([1, 0]);
  });

  test('that is retired still rings what is set, and drops its timer with the last alarm', async () => {
    const { clock, agenda, rung, alarm } = setup();
    const [awaited, dropped] = [alarm('awaited', true), alarm('dropped')];
    agenda.setIn(awaited, 5);
    agenda.setIn(dropped, 50);
    agenda.retire();
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(5);
    expect(rung).toEqual(['awaited at 5']);
    agenda.cancel(dropped);
    expect([agenda.size, clock.pendingTimers]).toEqual([0, 0]);
  });

  test('that is retired with nothing set has no timer', () => {
    const { clock, agenda, alarm } = setup();
    const only = alarm('only', true);
    agenda.setIn(only, 5);
    agenda.cancel(only);
    expect(clock.pendingTimers).toBe(1);
    agenda.retire();
    expect(clock.pendingTimers).toBe(0);
  });

  test('leaves its timer alone when alarms come and go behind the earliest', () => {
    const { clock, agenda, alarm } = setup();
    const startTimer = clock.startTimer.bind(clock);
    let started = 0;
    clock.startTimer = (delayMs, fire) => {
      started += 1;
      return startTimer(delayMs, fire);
    };
    agenda.setIn(alarm('earliest'), 10);
    for (let i = 0; i < 1_000; i += 1) {
      const other = alarm('other', true);
      agenda.setIn(other, 20);
      agenda.cancel(other);
    }
    expect(started).toBe(1);
  });

  test('refuses a time that is none', () => {
    const { agenda, alarm } = setup();
    expect(() => agenda.setAt(alarm('never'), Number.POSITIVE_INFINITY)).toThrow('finite');
    expect(() => agenda.setAt(alarm('nonsense'), Number.NaN)).toThrow('finite');
  });
});
