/** What the doctor makes of facts that a test cannot easily bring about on a real server. */
import { expect, test } from 'vitest';
import { checkCluster, checkFleet } from '../src/doctor/fleet-checks.ts';
import { checkServer, type Plan } from '../src/doctor/server-checks.ts';
import { parseSettings, type ServerFacts } from '../src/doctor/server-facts.ts';

const CONFIGURATION = { fsync: 'always', save: '', minReplicas: '0' };
const INFO = [
  '# Server',
  'redis_version:7.2.4',
  'run_id:abc',
  'uptime_in_seconds:86400',
  'role:master',
  'connected_slaves:0',
  'cluster_enabled:0',
  'maxmemory:0',
  'maxmemory_policy:noeviction',
  'aof_enabled:1',
  'aof_last_write_status:ok',
  'rdb_last_bgsave_status:ok',
];

const PLAN: Plan = { isQuorum: false, isCluster: false, leaseMs: 30_000 };

function factsWith(
  changes: Partial<ServerFacts>,
  lines: readonly string[] = [],
  configuration = {},
): ServerFacts {
  const keys = lines.map((line) => `${line.split(':')[0]}:`);
  const info = [...INFO.filter((line) => !keys.some((key) => line.startsWith(key))), ...lines].join('\r\n');
  const settings = parseSettings(info, { ...CONFIGURATION, ...configuration });
  return { label: 'a', settings, clockOffsetMs: 3, latencyP50Ms: 0.2, latencyMaxMs: 1, ...changes };
}

const troubles = (facts: ServerFacts, plan = PLAN): string[] =>
  checkServer(facts, plan)
    .filter(({ level }) => level !== 'ok')
    .map(({ check, level }) => `${level} ${check}`);

test.each([
  ['a healthy server', factsWith({}), []],
  ['an old Redis', factsWith({}, ['redis_version:6.2.14']), ['problem version']],
  ['Valkey, which calls itself Redis 7.2 too', factsWith({}, ['valkey_version:8.1.0']), []],
  ['something like Redis', factsWith({}, ['dragonfly_version:df-v1.2']), ['warning version']],
  ['a part of a cluster that is taken for a server', factsWith({}, ['cluster_enabled:1']), ['problem role']],
  [
    'an append-only file written each second',
    factsWith({}, [], { fsync: 'everysec' }),
    ['warning persistence'],
  ],
  ['snapshots alone', factsWith({}, ['aof_enabled:0'], { save: '60 1' }), ['warning persistence']],
  ['a disk that is full', factsWith({}, ['aof_last_write_status:err']), ['problem persistence']],
  ['a memory limit that refuses', factsWith({}, ['maxmemory:100']), []],
  [
    'volatile eviction',
    factsWith({}, ['maxmemory:100', 'maxmemory_policy:volatile-ttl']),
    ['problem eviction'],
  ],
  ['a clock ahead', factsWith({ clockOffsetMs: 1_500 }), ['warning clock']],
  ['a clock behind', factsWith({ clockOffsetMs: -1_500 }), ['warning clock']],
  ['a clock that may not be read', factsWith({ clockOffsetMs: null }), ['problem clock']],
  ['a slow network', factsWith({ latencyP50Ms: 80, latencyMaxMs: 90 }), ['warning latency']],
  ['a server that stalls', factsWith({ latencyMaxMs: 2_000 }), ['warning latency']],
  ['a server that has just started', factsWith({}, ['uptime_in_seconds:5']), ['warning uptime']],
  [
    'a replica that lags',
    factsWith({}, ['slave0:ip=10.0.0.1,port=6379,state=online,offset=1,lag=9'], { minReplicas: '1' }),
    ['warning replicas'],
  ],
  [
    'a replica that is still catching up',
    factsWith({}, ['slave0:ip=10.0.0.1,port=6379,state=wait_bgsave,offset=0,lag=0'], { minReplicas: '1' }),
    ['warning replicas'],
  ],
])('%s', (_what, facts, expected) => {
  expect(troubles(facts)).toEqual(expected);
});

test('a quorum does not need persistence, because a young server does not vote', () => {
  const facts = factsWith({}, ['aof_enabled:0']);
  expect(troubles(facts)).toEqual(['warning persistence']);
  expect(troubles(facts, { ...PLAN, isQuorum: true })).toEqual([]);
});

test('clocks of a quorum that are apart are told, also when each is near ours', () => {
  const fleet = [-600, 0, 600].map((clockOffsetMs, at) =>
    factsWith({ label: `${at}`, clockOffsetMs }, [`run_id:${at}`]),
  );
  const verdicts = checkFleet(fleet, 3).map(({ check, level }) => `${level} ${check}`);
  expect(verdicts).toEqual(['ok quorum', 'warning clock']);
});

test('a part of a cluster is well where a cluster is asked for', () => {
  expect(troubles(factsWith({}, ['cluster_enabled:1']), { ...PLAN, isCluster: true })).toEqual([]);
});

test('a cluster whose slots are not all served, or whose clocks are apart, is told', () => {
  const fleet = [-600, 600].map((clockOffsetMs) => factsWith({ clockOffsetMs }));
  const levels = (served: number | null): string[] =>
    checkCluster(fleet, served).map(({ check, level }) => `${level} ${check}`);
  expect(levels(16_384)).toEqual(['ok cluster', 'warning clock']);
  expect(levels(16_000)).toEqual(['problem cluster', 'warning clock']);
  expect(levels(null)).toEqual(['warning clock']);
});
