/** Which slots a schedule has: the grid, the patterns, daylight saving, and what is refused. */
import { describe, expect, test } from 'vitest';
import { resolveSchedule, type ScheduleOptions } from '../../../src/options/schedule-options.ts';
import { loadCroner } from '../../../src/primitives/schedule/croner.ts';
import { lateMsOf, type Slots, slotsOf } from '../../../src/primitives/schedule/slots.ts';
import { seeded } from '../../support/seeded.ts';

const DEFAULTS = { leaseMs: 30_000 };
const HOUR_MS = 3_600_000;

function slots(options: ScheduleOptions): Slots {
  return slotsOf(resolveSchedule(options, DEFAULTS));
}

/** The slots of some days, in local words of the zone. */
function walk(cron: string, from: string, days: number): string[] {
  const pattern = slots({ cron, timeZone: 'Europe/Berlin' });
  const endMs = Date.parse(from) + days * 24 * HOUR_MS;
  const found: string[] = [];
  for (let at = pattern.after(Date.parse(from)); at !== null && at < endMs; at = pattern.after(at)) {
    found.push(new Date(at).toISOString());
  }
  return found;
}

describe('a grid', () => {
  test('has its slots at multiples of the server time, moved by the offset', () => {
    const grid = slots({ everyMs: 1_000, offsetMs: 250 });
    expect([grid.newestAt(10_249), grid.newestAt(10_250), grid.after(10_250)]).toEqual([
      9_250, 10_250, 11_250,
    ]);
    expect(grid.spec).toBe('every 1000 ms + 250');
  });
});

describe('a pattern', () => {
  test('has the newest slot and the next, from any moment', () => {
    const daily = slots({ cron: '30 2 * * *' });
    const atMs = Date.UTC(2030, 5, 1, 2, 30);
    for (const backMs of [0, 1, 1_000, HOUR_MS, 23 * HOUR_MS])
      expect(daily.newestAt(atMs + backMs)).toBe(atMs);
    expect(daily.newestAt(atMs - 1)).toBe(atMs - 24 * HOUR_MS);
    expect(daily.after(atMs)).toBe(atMs + 24 * HOUR_MS);
  });

  test('of seconds, of leap days and of years has its newest slot too', () => {
    const nowMs = Date.UTC(2030, 5, 1, 2, 30, 17, 5);
    expect(slots({ cron: '* * * * * *' }).newestAt(nowMs)).toBe(nowMs - 5);
    expect(slots({ cron: '0 0 29 2 *' }).newestAt(nowMs)).toBe(Date.UTC(2028, 1, 29));
  });

  test('gives the same slots from every moment that the walk begins at', () => {
    const random = seeded(11);
    const pattern = slots({ cron: '*/20 2,3 * * *', timeZone: 'Europe/Berlin' });
    const known = new Set<number>();
    const from = Date.UTC(2027, 2, 26);
    for (let at = pattern.after(from); at !== null && at < from + 6 * 24 * HOUR_MS; at = pattern.after(at))
      known.add(at);
    for (let i = 0; i < 500; i += 1) {
      const at = pattern.after(from + Math.floor(random() * 5 * 24 * HOUR_MS));
      expect(known.has(at ?? 0)).toBe(true);
    }
  });

  test('is in UTC unless a time zone is given, whatever the process has', () => {
    const before = process.env['TZ'];
    process.env['TZ'] = 'Asia/Tokyo';
    try {
      expect(slots({ cron: '0 12 * * *' }).after(Date.UTC(2030, 0, 1))).toBe(Date.UTC(2030, 0, 1, 12));
    } finally {
      if (before === undefined) delete process.env['TZ'];
      else process.env['TZ'] = before;
    }
  });
});

describe('daylight saving in Berlin in 2027', () => {
  const SPRING = '2027-03-27T12:00:00Z';
  const AUTUMN = '2027-10-30T12:00:00Z';

  test('30 2 * * * runs once in spring, at 03:00, and once in autumn, at the first 02:30', () => {
    expect(walk('30 2 * * *', SPRING, 1)).toEqual(['2027-03-28T01:00:00.000Z']);
    expect(walk('30 2 * * *', AUTUMN, 1)).toEqual(['2027-10-31T00:30:00.000Z']);
  });

  test('*/30 2 * * * is left out in spring', () => {
    expect(walk('*/30 2 * * *', SPRING, 1)).toEqual([]);
  });

  test('*/20 2 * * * runs in both hours of autumn', () => {
    expect(walk('*/20 2 * * *', AUTUMN, 1)).toHaveLength(6);
  });

  test('0 * * * * runs every real hour', () => {
    for (const from of [SPRING, AUTUMN]) {
      const hours = walk('0 * * * *', from, 1).map((iso) => Date.parse(iso));
      expect(hours.slice(1).map((atMs, index) => atMs - (hours[index] ?? 0))).toEqual(
        hours.slice(1).map(() => HOUR_MS),
      );
    }
  });
});

describe('late', () => {
  test('is a minute, or half the time to the next slot if that is less', () => {
    expect([lateMsOf(null, 0, 10_000), lateMsOf(null, 0, HOUR_MS), lateMsOf(null, 0, null)]).toEqual([
      5_000, 60_000, 60_000,
    ]);
    expect(lateMsOf(7, 0, HOUR_MS)).toBe(7);
  });
});

describe('without croner', () => {
  test('the error names the install command', () => {
    const missing = (): never => {
      throw new Error("Cannot find module 'croner'");
    };
    expect(() => loadCroner(missing)).toThrow('install it: npm install croner@^11');
    expect(() => loadCroner(() => ({}))).toThrow('expected croner 11, got another version');
  });
});

describe('what is refused before any work', () => {
  test.each([
    ['neither', {}, 'expected either cron or everyMs, got none of them'],
    ['both', { cron: '* * * * *', everyMs: 1_000 }, 'expected either cron or everyMs, got both'],
    ['a short grid', { everyMs: 99 }, 'expected everyMs to be an integer from 100'],
    [
      'an offset beyond the grid',
      { everyMs: 100, offsetMs: 100 },
      'expected offsetMs to be an integer from 0 to 99',
    ],
    ['a zone without a pattern', { everyMs: 1_000, timeZone: 'UTC' }, 'expected timeZone with cron only'],
    ['an offset with a pattern', { cron: '* * * * *', offsetMs: 1 }, 'expected offsetMs with everyMs only'],
    [
      'a wrong pattern',
      { cron: '99 * * * *' },
      'expected a cron pattern and a time zone that croner understands',
    ],
    ['a wrong zone', { cron: '* * * * *', timeZone: 'Nowhere/At' }, 'that croner understands'],
    ['a pattern that never matches', { cron: '0 0 30 2 *' }, 'expected a cron pattern that matches some day'],
    [
      'a rest beyond the grid',
      { everyMs: 1_000, atLeastMs: 1_000 },
      'expected atLeastMs to be less than the 1000 ms',
    ],
    [
      'a rest beyond the pattern',
      { cron: '* * * * *', atLeastMs: 60_000 },
      'expected atLeastMs to be less than',
    ],
    [
      'a rest beyond the limit',
      { everyMs: 9_000, atLeastMs: 2, atMostMs: 1 },
      'expected atLeastMs to be at most',
    ],
    ['no attempts', { everyMs: 1_000, attempts: 0 }, 'expected attempts to be an integer from 1'],
    ['a wrong word', { everyMs: 1_000, missed: 'all' }, "expected missed to be one of 'skip', 'once'"],
    ['an unknown option', { everyMs: 1_000, retries: 1 }, 'expected an option of a schedule among'],
  ])('%s', (_, options, message) => {
    expect(() => slots(options as ScheduleOptions)).toThrow(message);
  });
});
