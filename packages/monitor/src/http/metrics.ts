/** `/metrics`: the picture as Prometheus reads it. Names have no bound, so none is a label, but the groups that were asked for. */
import type { Metric } from '../alert-source.ts';
import type { Row, ServerCard } from '../api/types.ts';
import type { Figures } from '../figures.ts';
import type { LockGroups } from '../sampling/locks/groups.ts';
import { isHeld } from '../sampling/locks/rows.ts';

const PREFIX = 'holdfast_monitor_';

type Sample = Metric['samples'][number];

export function renderMetrics(
  figures: Figures,
  more: readonly Metric[],
  version: string,
  groups: LockGroups | null,
): string {
  const { fleet } = figures;
  const all = [
    ...lockMetrics(figures, groups),
    ...serverMetrics(figures),
    ...fleetMetrics(figures, version),
    ...more,
  ];
  return all
    .filter(({ samples }) => samples.length > 0)
    .map((metric) => renderMetric(metric, fleet))
    .join('');
}

function renderMetric({ name, type, help, samples }: Metric, fleet: string): string {
  const lines = samples.map(({ labels, value }) => {
    const shown = Object.entries({ fleet, ...labels }).map(
      ([label, text]) => `${label}="${escapeLabel(text)}"`,
    );
    return `${PREFIX}${name}{${shown.join(',')}} ${Number.isFinite(value) ? value : 'NaN'}\n`;
  });
  return `# HELP ${PREFIX}${name} ${help}\n# TYPE ${PREFIX}${name} ${type}\n${lines.join('')}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function gauge(name: string, help: string, value: number | null, labels: Sample['labels'] = {}): Metric {
  return { name, type: 'gauge', help, samples: value === null ? [] : [{ labels, value }] };
}

/** Figures of locks: name, help, and the value of some of the rows. */
const LOCK_GAUGES: readonly (readonly [string, string, (rows: readonly Row[], at: number) => number])[] = [
  ['locks_held', 'Locks that are held.', (rows) => rows.filter(isHeld).length],
  [
    'waiting',
    'Processes that wait in the lines of all locks.',
    (rows) => rows.reduce((sum, { waiting }) => sum + waiting, 0),
  ],
  [
    'hold_age_seconds_max',
    'For how long the oldest hold has been held.',
    (rows, at) => oldest(rows, at, (row) => (isHeld(row) ? row.grantedAt : null)),
  ],
  [
    'wait_age_seconds_max',
    'For how long the first in a line has waited, at most.',
    (rows, at) => oldest(rows, at, ({ firstWaitAt }) => firstWaitAt),
  ],
  [
    'line_length_max',
    'Processes in the longest line.',
    (rows) => rows.reduce((most, { waiting }) => Math.max(most, waiting), 0),
  ],
  [
    'renewals_late',
    'Renewing holds with less than a third of their lease left.',
    (rows) => rows.filter(({ late }) => late).length,
  ],
  ['orphans', 'Holds whose process has died.', (rows) => rows.filter(({ ownerGone }) => ownerGone).length],
  ['eternal', 'Locks without an expiry.', (rows) => rows.filter(({ eternal }) => eternal).length],
];

function oldest(rows: readonly Row[], at: number, pick: (row: Row) => number | null): number {
  return rows.reduce((most, row) => {
    const from = pick(row);
    return from === null ? most : Math.max(most, (at - from) / 1000);
  }, 0);
}

/** With groups every figure is told for each of them, also where nothing is held: a rate needs its zero. */
function lockMetrics({ locks, at, counters }: Figures, groups: LockGroups | null): Metric[] {
  const parts: (readonly [Sample['labels'], Row[], Figures['counters']['ends']])[] =
    groups === null
      ? [[{}, [...locks.values()], counters.ends]]
      : groups.names.map((group) => [{ group }, [], counters.byGroup?.get(group) ?? counters.ends]);
  if (groups !== null) {
    const rowsOf = new Map(parts.map(([labels, rows]) => [labels['group'], rows]));
    for (const row of locks.values()) rowsOf.get(groups.of(row.name))?.push(row);
  }
  return [
    ...LOCK_GAUGES.map(([name, help, pick]): Metric => {
      const samples = parts.map(([labels, rows]) => ({ labels, value: pick(rows, at) }));
      return { name, type: 'gauge', help, samples };
    }),
    {
      name: 'holds_total',
      type: 'counter',
      help: 'Holds that were seen to end, by how they ended.',
      samples: parts.flatMap(([labels, , ends]) =>
        Object.entries(ends).map(([end, value]) => ({ labels: { ...labels, end }, value })),
      ),
    },
  ];
}

const SERVER_GAUGES: readonly (readonly [string, string, (card: ServerCard) => number | null])[] = [
  [
    'redis_up',
    'Whether the server answers, lets the monitor in and has loaded its data.',
    ({ health }) => (health === 'up' || health === 'busy' ? 1 : 0),
  ],
  [
    'redis_busy',
    'Whether a script blocks the server, or it is mute.',
    ({ health }) => (health === 'busy' ? 1 : 0),
  ],
  ['redis_memory_used_bytes', 'Memory in use.', ({ memoryUsed }) => memoryUsed],
  [
    'redis_memory_limit_bytes',
    'maxmemory, the configured limit, or the memory of the host.',
    ({ memoryLimit }) => memoryLimit,
  ],
  [
    'redis_may_evict',
    'Whether a lock may be evicted.',
    ({ mayEvict }) => (mayEvict === null ? null : Number(mayEvict)),
  ],
  ['redis_clients', 'Connections.', ({ clients }) => clients],
  ['redis_clients_limit', 'maxclients.', ({ clientsLimit }) => clientsLimit],
  ['redis_replicas', 'Replicas that are online.', ({ replicas }) => replicas],
  [
    'redis_replicas_seen_max',
    'Most replicas that were seen online.',
    ({ replicasSeenMax }) => replicasSeenMax,
  ],
  [
    'redis_replica_lag_seconds',
    'How far the last replica is behind.',
    ({ replicaLagSeconds }) => replicaLagSeconds,
  ],
  [
    'redis_persistence_ok',
    'Whether the last save and write went well.',
    ({ persistence }) => (persistence === null ? null : persistence === 'failing' ? 0 : 1),
  ],
  [
    'redis_uptime_seconds',
    'Since when the server runs.',
    ({ startedAt, seenAt }) =>
      startedAt === null || seenAt === null ? null : Math.max(0, (seenAt - startedAt) / 1000),
  ],
  [
    'redis_clock_offset_seconds',
    'Its clock less that of the monitor.',
    ({ clockOffsetMs }) => (clockOffsetMs === null ? null : clockOffsetMs / 1000),
  ],
  [
    'redis_own_commands_per_second',
    'Commands that the monitor itself sends.',
    ({ ownCommandsPerSecond }) => ownCommandsPerSecond,
  ],
];

const SERVER_COUNTERS: readonly (readonly [string, string, (card: ServerCard) => number | null])[] = [
  ['redis_evicted_keys_total', 'Keys that were evicted.', ({ evictedTotal }) => evictedTotal],
  [
    'redis_main_thread_cpu_seconds_total',
    'CPU time of the main thread.',
    ({ cpuSecondsTotal }) => cpuSecondsTotal,
  ],
  [
    'redis_rejected_connections_total',
    'Connections refused because of maxclients.',
    ({ rejectedTotal }) => rejectedTotal,
  ],
];

function serverMetrics({ servers }: Figures): Metric[] {
  const cards = [...servers.values()].filter(({ role }) => role !== 'sentinel');
  const metric = (type: Metric['type'], [name, help, pick]: (typeof SERVER_GAUGES)[number]): Metric => ({
    name,
    type,
    help,
    samples: cards.flatMap((card) => {
      const value = pick(card);
      return value === null ? [] : [{ labels: { server: card.id, role: card.role }, value }];
    }),
  });
  const quantile = (card: ServerCard, q: string, ms: number | null): Sample[] =>
    ms === null ? [] : [{ labels: { server: card.id, role: card.role, quantile: q }, value: ms / 1000 }];
  return [
    ...SERVER_GAUGES.map((one) => metric('gauge', one)),
    ...SERVER_COUNTERS.map((one) => metric('counter', one)),
    {
      name: 'redis_round_trip_seconds',
      type: 'gauge',
      help: 'Round trip of TIME over the last minute.',
      samples: cards.flatMap((card) => [
        ...quantile(card, '0.5', card.roundTripP50Ms),
        ...quantile(card, '0.99', card.roundTripP99Ms),
      ]),
    },
  ];
}

function fleetMetrics(
  { topology, longestLeaseMs, leftOut, lookedAt, beganAt, at }: Figures,
  version: string,
): Metric[] {
  const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);
  return [
    gauge('build_info', 'Version of the monitor.', 1, { version }),
    gauge(
      'look_age_seconds',
      'Age of the oldest look at the locks; before the first, of the monitor.',
      (at - (lookedAt ?? beganAt)) / 1000,
    ),
    gauge(
      'locks_left_out',
      'Locks that were found and are in none of these figures: there are too many.',
      leftOut,
    ),
    gauge('longest_lease_seconds', 'The longest lease of the last hour.', seconds(longestLeaseMs)),
    gauge('quorum_voters', 'Servers of the quorum that vote.', topology.quorum?.voters ?? null),
    gauge('quorum_needed', 'Servers of the quorum that must vote.', topology.quorum?.needed ?? null),
    gauge('cluster_slots_ok', 'Slots of the cluster that are served.', topology.slotsOk),
    gauge('sentinels_up', 'Sentinels that answer.', topology.sentinels?.up ?? null),
    gauge('sentinels_quorum', 'Sentinels that must agree.', topology.sentinels?.quorum ?? null),
    gauge(
      'clock_spread_seconds',
      'How far the clocks of the servers are apart.',
      seconds(topology.clockSpreadMs),
    ),
    gauge('clock_error_seconds', 'How far that may be wrong.', seconds(topology.clockErrorMs)),
  ];
}
