/** Each end of a hold on a table of times: the rules without a server. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { QuorumEnds } from '../src/sampling/locks/ends.ts';
import { type Ending, judge } from '../src/sampling/locks/inference.ts';

const SEEN: Ending = {
  seenMs: 100_000,
  ttlMs: 20_000,
  goneMs: 101_000,
  renewing: true,
  leaseMs: 30_000,
  claimOnly: false,
  disturbance: null,
  forced: false,
};

describe('a hold that is gone', () => {
  test.each<[string, Partial<Ending>, string, string]>([
    ['before its time: released', {}, 'released', 'yes'],
    ['before its time, from the line: released', { claimOnly: true, renewing: false }, 'released', 'yes'],
    ['before its time, without an expiry: released', { ttlMs: -1 }, 'released', 'yes'],
    ['before its time, after a flush: vanished', { disturbance: 'flushed' }, 'vanished', 'likely'],
    ['before its time, after a restart: vanished', { disturbance: 'restarted' }, 'vanished', 'likely'],
    ['before its time, by an operator: forced', { forced: true }, 'forced', 'yes'],
    ['by an operator after a flush: forced', { forced: true, disturbance: 'flushed' }, 'forced', 'yes'],
    ['late, and past its time: expired', { ttlMs: 200, goneMs: 100_250 }, 'expired', 'yes'],
    ['late, at its very time: expired', { ttlMs: 200, goneMs: 100_200 }, 'expired', 'yes'],
    ['late, and 426 ms before its time: released', { ttlMs: 600, goneMs: 100_174 }, 'released', 'yes'],
    [
      'late, when its owner may have let go of it: unknown',
      { ttlMs: 600, goneMs: 100_175 },
      'unknown',
      'likely',
    ],
    [
      'a fixed lease, when its owner lets go of it at its own end: ran out',
      { renewing: false, ttlMs: 600, goneMs: 100_175 },
      'ran-out',
      'likely',
    ],
    [
      'late, and a moment before its time, to an error: expired',
      { ttlMs: 200, goneMs: 100_150 },
      'expired',
      'yes',
    ],
    [
      'a fixed lease, a moment before its time, to an error: ran out',
      { renewing: false, ttlMs: 200, goneMs: 100_199 },
      'ran-out',
      'likely',
    ],
    ['late, looked for too late: unknown', { ttlMs: 200, goneMs: 106_000 }, 'unknown', 'likely'],
    ['not late when last seen: unknown', { ttlMs: 11_000, goneMs: 111_000 }, 'unknown', 'likely'],
    [
      'a short lease between two looks: unknown',
      { leaseMs: 900, ttlMs: 700, goneMs: 101_000 },
      'unknown',
      'likely',
    ],
    ['a fixed lease, past its time: ran out', { renewing: false, ttlMs: 200 }, 'ran-out', 'likely'],
    [
      'a claim that was never a lease: unconfirmed',
      { renewing: false, claimOnly: true, ttlMs: 200 },
      'unconfirmed',
      'likely',
    ],
    [
      'past its time, after a failover: unknown',
      { ttlMs: 200, disturbance: 'failed over' },
      'unknown',
      'likely',
    ],
  ])('%s', (_title, seen, end, sure) => {
    expect(judge({ ...SEEN, ...seen })).toMatchObject({ end, sure });
  });

  test('is never said to have expired before its time, to an error of 50 ms, or without having been renewed and late', () => {
    const disturbance = fc.constantFrom(
      null,
      'flushed',
      'evicted',
      'restarted',
      'failed over',
    ) as fc.Arbitrary<Ending['disturbance']>;
    const endings = fc.record({
      seenMs: fc.constant(100_000),
      ttlMs: fc.integer({ min: -1, max: 40_000 }),
      goneMs: fc.integer({ min: 100_000, max: 160_000 }),
      renewing: fc.boolean(),
      leaseMs: fc.integer({ min: 100, max: 40_000 }),
      claimOnly: fc.boolean(),
      disturbance,
      forced: fc.boolean(),
    });
    fc.assert(
      fc.property(endings, (ending) => {
        if (judge(ending).end !== 'expired') return;
        expect(ending.renewing && !ending.forced).toBe(true);
        expect(ending.goneMs).toBeGreaterThanOrEqual(ending.seenMs + ending.ttlMs - 50);
        expect(ending.ttlMs).toBeLessThan(ending.leaseMs / 3);
      }),
    );
  });
});

describe('the end of a hold in a quorum', () => {
  const released = { end: 'released', sure: 'yes', cause: null } as const;
  const unknown = { end: 'unknown', sure: 'likely', cause: null } as const;

  test('is told once, by the second of three servers, also when all have seen it gone before the first verdict', () => {
    const ends = new QuorumEnds();
    const told = [1, 2, 3].map((at) => ends.add('order', 'a:1', released, 0, 3, at));
    expect(told).toEqual([null, released, null]);
  });

  test('is not told while a majority has it, nor of a minority that had it alone', () => {
    const ends = new QuorumEnds();
    expect(ends.add('order', 'a:1', unknown, 2, 3, 1)).toBeNull();
    expect(ends.add('order', 'a:1', released, 1, 3, 2)).toEqual(unknown);
    expect(ends.add('half', 'b:1', released, 0, 3, 3)).toBeNull();
  });

  test('is told again when the same holder comes again', () => {
    const ends = new QuorumEnds();
    for (const at of [1, 2]) {
      expect(ends.add('order', 'a:1', released, 0, 3, at)).toBeNull();
      expect(ends.add('order', 'a:1', released, 0, 3, at)).toEqual(released);
    }
  });

  test('a verdict that nobody joined is forgotten', () => {
    const ends = new QuorumEnds();
    expect(ends.add('order', 'a:1', released, 0, 3, 1)).toBeNull();
    expect(ends.add('order', 'a:1', released, 0, 3, 200_000)).toBeNull();
  });
});
