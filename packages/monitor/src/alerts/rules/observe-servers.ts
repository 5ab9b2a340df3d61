/** What the rules about servers see in the figures. */
import type { ServerCard } from '../../api/types.ts';
import { type Figures, STALE_SERVER_MS } from '../../figures.ts';
import { formatDuration, formatShare } from '../config/units.ts';
import type { CounterWindows } from './counter-window.ts';
import { type OpenAlert, openEvidence } from './open-alerts.ts';
import type { Judgement, Observation } from './rule.ts';
import { ruleOf } from './table.ts';

type Measured = Omit<Observation, 'subject' | 'server'>;

/** Null: not known now. */
type Measure = (card: ServerCard, figures: Figures, windows: CounterWindows) => Measured | null;

const WELL: Measured = { value: 0, words: () => 'well' };

function condition(isBad: boolean | null, words: () => string): Measured | null {
  if (isBad === null) return null;
  return isBad ? { value: 1, words } : WELL;
}

/** The rules on whether a server answers. They are judged whatever the age of its figures. */
const REACHABILITY: Readonly<Record<string, Measure>> = {
  'redis-unreachable': ({ health, trouble }) =>
    condition(
      health === 'down' || health === 'refused' || health === 'loading',
      () => `${health}${trouble === null ? '' : `: ${trouble}`}`,
    ),
  'redis-busy': ({ health, trouble }) =>
    condition(health === 'busy', () => trouble ?? 'a script or command blocks it'),
};

const MEASURES: Readonly<Record<string, Measure>> = {
  'memory-high': ({ memoryUsed, memoryLimit, memoryLimitFrom }) => {
    const share = shareOf(memoryUsed, memoryLimit);
    if (share === null) return memoryUsed === null ? null : WELL;
    return {
      value: share,
      words: () => `memory ${formatShare(share)} of ${formatBytes(memoryLimit ?? 0)} (${memoryLimitFrom})`,
    };
  },
  evicting: ({ id, evictedTotal }, { at }, windows) =>
    counted('evicting', id, evictedTotal, at, windows, 'keys evicted'),
  'eviction-policy': ({ mayEvict, evictionPolicy }) =>
    condition(mayEvict, () => `maxmemory-policy is ${evictionPolicy}`),
  'cpu-high': ({ cpu }) =>
    cpu === null ? null : { value: cpu, words: () => `main thread ${formatShare(cpu)} of a core` },
  'connections-high': ({ clients, clientsLimit }) => {
    const share = shareOf(clients, clientsLimit);
    if (share === null) return clients === null ? null : WELL;
    return { value: share, words: () => `${clients} of ${clientsLimit} clients` };
  },
  'connections-refused': ({ id, rejectedTotal }, { at }, windows) =>
    counted('connections-refused', id, rejectedTotal, at, windows, 'connections refused'),
  'latency-high': ({ roundTripP99Ms }) =>
    roundTripP99Ms === null
      ? null
      : { value: roundTripP99Ms, words: () => `round trip p99 ${formatDuration(roundTripP99Ms)}` },
  'replica-behind': ({ role, replicaLagSeconds }) =>
    role !== 'primary' || replicaLagSeconds === null
      ? WELL
      : { value: replicaLagSeconds * 1_000, words: () => `a replica is ${replicaLagSeconds} s behind` },
  'persistence-failing': ({ persistence }) =>
    condition(persistence === null ? null : persistence === 'failing', () => 'the last save failed'),
  restarted: ({ startedAt, guardedUntil }, { at, longestLeaseMs }) => {
    const isYoung = startedAt === null ? null : Math.max(0, at - startedAt) < (longestLeaseMs ?? 0);
    const isGuarded = guardedUntil !== null && guardedUntil > at;
    return condition(isGuarded || isYoung, () =>
      isGuarded
        ? `does not vote for another ${formatDuration((guardedUntil ?? at) - at)}`
        : `up for ${formatDuration(Math.max(0, at - (startedAt ?? at)))}, the longest lease is ${formatDuration(longestLeaseMs ?? 0)}`,
    );
  },
};

/** A monitor that started when a replica was missing already has not seen it; the open alert says how many there were. */
function replicaDown(alerts: readonly OpenAlert[]): Measure {
  const seenBefore = openEvidence('replica-down', alerts);
  return ({ id, replicas, replicasSeenMax }) => {
    if (replicas === null || replicasSeenMax === null) return null;
    const expected = Math.max(replicasSeenMax, Number(seenBefore.get(id) ?? 0));
    if (replicas >= expected) return WELL;
    const words = (): string => `${replicas} of ${expected} replicas are connected`;
    return { value: 1, words, evidence: String(expected) };
  };
}

export function observeServers(
  figures: Figures,
  windows: CounterWindows,
  alerts: readonly OpenAlert[],
): Judgement[] {
  const cards = [...figures.servers.values()].filter(({ role }) => role !== 'sentinel');
  const judge = (rule: string, measure: Measure, isFresh: (card: ServerCard) => boolean): Judgement => {
    const frozen = new Set<string>();
    const observations: Observation[] = [];
    for (const card of cards) {
      const measured = isFresh(card) ? measure(card, figures, windows) : null;
      if (measured === null) frozen.add(card.id);
      else observations.push({ ...measured, subject: card.id, server: card.id });
    }
    return { rule, observations, isFrozen: (subject) => frozen.has(subject) };
  };
  const isFresh = ({ seenAt }: ServerCard): boolean =>
    seenAt !== null && figures.at - seenAt <= STALE_SERVER_MS;
  return [
    ...Object.entries(REACHABILITY).map(([rule, measure]) => judge(rule, measure, () => true)),
    ...Object.entries(MEASURES).map(([rule, measure]) => judge(rule, measure, isFresh)),
    judge('replica-down', replicaDown(alerts), isFresh),
  ];
}

function counted(
  rule: string,
  id: string,
  total: number | null,
  at: number,
  windows: CounterWindows,
  what: string,
): Measured | null {
  if (total === null) return null;
  const windowMs = ruleOf(rule).windowMs ?? 0;
  const count = windows.increase(`${rule} ${id}`, total, at, windowMs);
  return { value: count, words: () => `${count} ${what} within ${formatDuration(windowMs)}` };
}

function shareOf(used: number | null, limit: number | null): number | null {
  return used === null || limit === null || limit <= 0 ? null : used / limit;
}

function formatBytes(bytes: number): string {
  for (const [unit, size] of [
    ['GB', 1_024 ** 3],
    ['MB', 1_024 ** 2],
    ['KB', 1_024],
  ] as const) {
    if (bytes >= size) return `${Number((bytes / size).toFixed(1))} ${unit}`;
  }
  return `${bytes} B`;
}
