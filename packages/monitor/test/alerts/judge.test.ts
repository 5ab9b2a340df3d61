/** What each rule sees in the figures, and when it says that it cannot tell. */
import { describe, expect, test } from 'vitest';
import { Judge } from '../../src/alerts/rules/judge.ts';
import type { Judgement } from '../../src/alerts/rules/rule.ts';
import { JUDGED_RULES } from '../../src/alerts/rules/table.ts';
import type { Figures } from '../../src/figures.ts';
import { describeTopology } from '../../src/sampling/servers/topology-view.ts';
import { AT, card, ended, type FiguresGiven, figures, row } from './support/figures.ts';

const OWN = { waiting: [], configRefusal: null, startedAt: AT - 3_600_000 };
const SERVER = 'redis-1:6379';

function look(given: FiguresGiven | Figures, judge = new Judge(), own = {}): Map<string, Judgement> {
  const seen = 'endsSince' in given ? given : figures(given);
  return new Map(judge.look(seen, { ...OWN, ...own }, []).map((judgement) => [judgement.rule, judgement]));
}

/** The value and the words of the first subject of a rule. */
function first(given: FiguresGiven, rule: string, own = {}): [number, string] | undefined {
  const observation = look(given, new Judge(), own).get(rule)?.observations[0];
  return observation === undefined ? undefined : [observation.value, observation.words()];
}

test('every rule looks at every picture', () => {
  expect([...look({}).keys()].sort()).toEqual(JUDGED_RULES.map(({ id }) => id).sort());
});

test('no rule sees anything wrong where nothing is', () => {
  for (const { id, warning, critical, compare } of JUDGED_RULES) {
    for (const { value } of look({ locks: [row()] }).get(id)?.observations ?? []) {
      const threshold = warning ?? critical ?? 0;
      expect(compare === 'above' ? value > threshold : value >= threshold, id).toBe(false);
    }
  }
});

const SEEN: readonly (readonly [string, FiguresGiven, number, string | RegExp])[] = [
  [
    'lock-held-long',
    { locks: [row({ grantedAt: AT - 720_000 })] },
    720_000,
    'held for 12m by billing web-3 4711',
  ],
  [
    'lock-held-long',
    { locks: [row({ grantedAt: AT - 720_000, exact: false, app: null, host: null, pid: null })] },
    720_000,
    'held for at least 12m by session:1',
  ],
  [
    'wait-long',
    { locks: [row({ waiting: 5, firstWaitAt: AT - 41_000 })] },
    41_000,
    'the first of 5 waits for 41s, held by billing web-3 4711',
  ],
  ['line-long', { locks: [row({ waiting: 240 })] }, 240, /^240 wait/],
  ['owner-gone', { locks: [row({ ownerGone: true })] }, 1, /is gone$/],
  [
    'renewals-late',
    { locks: [row({ late: true, expiresAt: AT + 6_000 })] },
    1,
    /^6s left of the lease of billing/,
  ],
  ['lock-without-expiry', { locks: [row({ eternal: true })] }, 1, /without an expiry$/],
  [
    'leases-expired',
    { ends: [ended(), ended({ name: 'b' }), ended({ at: AT - 301_000 }), ended({ end: 'released' })] },
    2,
    '2 expired within 5m: order:1001, b',
  ],
  ['locks-vanished', { ends: [ended({ end: 'vanished', cause: 'flushed' })] }, 1, /order:1001 \(flushed\)$/],
  [
    'redis-unreachable',
    { servers: [card({ health: 'down', trouble: 'ECONNREFUSED' })] },
    1,
    'down: ECONNREFUSED',
  ],
  ['redis-unreachable', { servers: [card({ health: 'loading' })] }, 1, 'loading'],
  ['redis-busy', { servers: [card({ health: 'busy' })] }, 1, /blocks it/],
  ['memory-high', { servers: [card({ memoryUsed: 960 })] }, 0.96, 'memory 96% of 1000 B (maxmemory)'],
  [
    'eviction-policy',
    { servers: [card({ mayEvict: true, evictionPolicy: 'allkeys-lru' })] },
    1,
    /allkeys-lru/,
  ],
  ['cpu-high', { servers: [card({ cpu: 0.91 })] }, 0.91, 'main thread 91% of a core'],
  ['connections-high', { servers: [card({ clients: 9_000 })] }, 0.9, '9000 of 10000 clients'],
  ['latency-high', { servers: [card({ roundTripP99Ms: 80 })] }, 80, 'round trip p99 80ms'],
  [
    'replica-down',
    { servers: [card({ replicas: 1, replicasSeenMax: 2 })] },
    1,
    '1 of 2 replicas are connected',
  ],
  ['replica-behind', { servers: [card({ replicaLagSeconds: 7 })] }, 7_000, 'a replica is 7 s behind'],
  ['persistence-failing', { servers: [card({ persistence: 'failing' })] }, 1, 'the last save failed'],
  ['restarted', { servers: [card({ startedAt: AT - 10_000 })], longestLeaseMs: 30_000 }, 1, /^up for 10s/],
  ['restarted', { servers: [card({ guardedUntil: AT + 12_000 })] }, 1, 'does not vote for another 12s'],
  [
    'quorum-spare',
    { topology: { quorum: { voters: 2, needed: 2, of: 3 } } },
    1,
    '2 of 3 servers vote, 2 must',
  ],
  ['quorum-spare', { topology: { quorum: { voters: 1, needed: 2, of: 3 } } }, 2, /^1 of 3/],
  ['quorum-spare', { topology: { quorum: { voters: 3, needed: 2, of: 3 } } }, 0, /^3 of 3/],
  ['clocks-apart', { topology: { clockSpreadMs: 1_500, clockErrorMs: 200 } }, 1_300, /^1.5s apart/],
  [
    'slots-unserved',
    { topology: { kind: 'cluster', slotsOk: 16_000 } },
    1,
    '16000 of 16384 slots are served',
  ],
  ['sentinels-few', { topology: { sentinels: { up: 1, quorum: 2, known: 3 } } }, 1, /^1 of 3 sentinels/],
  [
    'sentinels-few',
    { topology: { kind: 'sentinel', sentinels: { up: 2, quorum: 2, known: 3 } } },
    0,
    /^2 of/,
  ],
  ['monitor-blind', { lookedAt: AT - 20_000 }, 20_000, /20s ago$/],
  ['monitor-blind', { lookedAt: null }, 3_600_000, /1h ago$/],
];

test.each(SEEN)('%s sees its figure', (rule, given, value, words) => {
  const [seen, said] = first(given, rule) ?? [];
  expect(seen).toBeCloseTo(value);
  if (typeof words === 'string') expect(said).toBe(words);
  else expect(said).toMatch(words);
});

test('the monitor sees what it cannot deliver, and a configuration that was refused', () => {
  const waiting = [{ receiver: 'ops', ageMs: 400_000, error: 'HTTP 503' }];
  expect(first({}, 'delivery-failing', { waiting })).toEqual([400_000, expect.stringContaining('HTTP 503')]);
  expect(first({}, 'config-refused', { configRefusal: 'line 3: …' })).toEqual([1, 'line 3: …']);
});

describe('events are counted within five minutes', () => {
  test.each(['evicting', 'connections-refused'])('%s', (rule) => {
    const judge = new Judge();
    const at = (seconds: number, total: number): number => {
      const now = AT + seconds * 1_000;
      const seen = figures({
        at: now,
        servers: [card({ seenAt: now, evictedTotal: total, rejectedTotal: total })],
      });
      return look(seen, judge).get(rule)?.observations[0]?.value ?? Number.NaN;
    };
    expect(at(0, 1_000)).toBe(0);
    expect(at(10, 1_003)).toBe(3);
    expect(at(200, 1_003)).toBe(3);
    // A restart begins to count anew.
    expect(at(210, 2)).toBe(5);
    expect(at(315, 2)).toBe(2);
    expect(at(600, 2)).toBe(0);
  });
});

/** What a monitor says whose client names those of three sentinels that the list has, two of which must agree. */
function sentinelsSeen(...areUp: boolean[]): Figures['topology'] {
  const sentinels = areUp.map((isUp) => ({ isUp, quorum: 2, known: 3 }));
  return describeTopology('sentinel', [], null, sentinels, AT);
}

test.each([
  [[true, true, true], { up: 3, quorum: 2, known: 3 }],
  [[true, false, false], { up: 1, quorum: 2, known: 3 }],
  [[true, true], { up: 2, quorum: 2, known: 3 }],
  [[true, false], null],
  [[false, false], { up: 0, quorum: 2, known: 3 }],
  [[true], null],
  [[false], null],
])('of three sentinels the named ones are up %j: what is known is %j', (areUp, known) => {
  const topology = sentinelsSeen(...areUp);
  expect(topology.sentinels).toEqual(known);
  const judged = look({ topology }).get('sentinels-few');
  expect(judged?.isFrozen('shop', null)).toBe(known === null);
  expect(judged?.observations).toHaveLength(known === null ? 0 : 1);
});

describe('stale figures', () => {
  const stale = AT - 16_000;

  test('of a server freeze its rules, but not whether it answers', () => {
    const seen = look({ servers: [card({ seenAt: stale, health: 'down' })] });
    expect(seen.get('memory-high')?.observations).toEqual([]);
    expect(seen.get('memory-high')?.isFrozen(SERVER, SERVER)).toBe(true);
    expect(seen.get('redis-unreachable')?.observations).toHaveLength(1);
    expect(seen.get('redis-unreachable')?.isFrozen(SERVER, SERVER)).toBe(false);
  });

  test('a figure that is not known freezes its rule; a server that is gone does not', () => {
    const seen = look({ servers: [card({ cpu: null })] });
    expect(seen.get('cpu-high')?.isFrozen(SERVER, SERVER)).toBe(true);
    expect(seen.get('memory-high')?.isFrozen(SERVER, SERVER)).toBe(false);
    expect(seen.get('cpu-high')?.isFrozen('redis-9:6379', 'redis-9:6379')).toBe(false);
  });

  test('of locks freeze what is not seen, and what was seen long ago', () => {
    const fresh = look({ locks: [row({ seenAt: stale })] }).get('lock-held-long');
    expect(fresh?.observations).toEqual([]);
    expect(fresh?.isFrozen('order:1001', SERVER)).toBe(true);
    expect(fresh?.isFrozen('order:9', SERVER)).toBe(false);
    const blind = look({ lookedAt: stale });
    expect(blind.get('lock-held-long')?.isFrozen('order:9', SERVER)).toBe(true);
    expect(blind.get('leases-expired')?.isFrozen('shop', null)).toBe(true);
  });

  test('what was not found yet is frozen until all keys of its server were walked over', () => {
    const servers = [card(), card({ id: 'redis-2:6379' })];
    const rule = look({ servers, unsurveyed: ['redis-2:6379'] }).get('lock-held-long');
    expect(rule?.isFrozen('order:9', SERVER)).toBe(false);
    expect(rule?.isFrozen('order:9', 'redis-2:6379')).toBe(true);
    // Of three servers two know every lock that a majority has.
    const quorum = { voters: 3, needed: 2, of: 3 };
    const frozen = (...unsurveyed: string[]): boolean | undefined =>
      look({ unsurveyed, topology: { quorum } }).get('lock-held-long')?.isFrozen('order:9', null);
    expect([frozen('a'), frozen('a', 'b')]).toEqual([false, true]);
  });

  test('one server that is away does not freeze the locks of another', () => {
    const servers = [card(), card({ id: 'redis-2:6379', health: 'down', seenAt: stale })];
    const rule = look({ lookedAt: stale, servers }).get('lock-held-long');
    expect(rule?.isFrozen('gone', SERVER)).toBe(false);
    expect(rule?.isFrozen('gone', 'redis-2:6379')).toBe(true);
  });
});
