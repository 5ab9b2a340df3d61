/** What can be wrong with several servers that are each well. */
import { ok, problem, type Verdict, warning } from './finding.ts';
import type { ServerFacts } from './server-facts.ts';

const CLOCKS_MS_MAX = 1_000;

/** Whether a cluster serves every name, and whether its fences can be compared after a failover. */
export function checkCluster(facts: readonly ServerFacts[], slotsServed: number | null): Verdict[] {
  return [...checkSlots(slotsServed), ...checkClocks(facts)];
}

const SLOTS = 16_384;

function checkSlots(served: number | null): Verdict[] {
  if (served === null) return [];
  if (served === SLOTS) return [ok('cluster', 'every slot has a primary that is up')];
  return [
    problem(
      'cluster',
      `${SLOTS - served} of ${SLOTS} slots have no primary that is up: the locks in them cannot be taken`,
      'look at the nodes with redis-cli --cluster check',
    ),
  ];
}

/** Nothing to say about one server alone. */
export function checkFleet(facts: readonly ServerFacts[], asked: number): Verdict[] {
  if (asked < 2) return [];
  return [...checkDistinct(facts), checkCount(asked), ...checkClocks(facts)];
}

function checkDistinct(facts: readonly ServerFacts[]): Verdict[] {
  const byRun = groupByRun(facts);
  const same = [...byRun].filter(([run, members]) => run !== '' && members.length > 1);
  return same.map(([, members]) =>
    problem(
      'quorum',
      `${members.map(({ label }) => label).join(' and ')} are one and the same server: its vote counts more than once`,
      'give each server of the quorum once, by one address',
    ),
  );
}

function runOf({ settings }: ServerFacts): string {
  return settings?.runId ?? '';
}

/** By hand: Node 20 has no `Map.groupBy`. */
function groupByRun(facts: readonly ServerFacts[]): Map<string, ServerFacts[]> {
  const groups = new Map<string, ServerFacts[]>();
  for (const one of facts) groups.set(runOf(one), [...(groups.get(runOf(one)) ?? []), one]);
  return groups;
}

function checkCount(asked: number): Verdict {
  const spare = Math.ceil(asked / 2) - 1;
  if (asked % 2 === 1) return ok('quorum', `${asked} servers: ${spare} may fail`);
  return warning(
    'quorum',
    `${asked} servers: ${spare === 0 ? 'none' : spare} may fail, no more than with ${asked - 1}`,
    'use an odd number of servers',
  );
}

function checkClocks(facts: readonly ServerFacts[]): Verdict[] {
  const offsets = facts.map(({ clockOffsetMs }) => clockOffsetMs).filter((offset) => offset !== null);
  if (offsets.length < 2) return [];
  const apartMs = Math.round(Math.max(...offsets) - Math.min(...offsets));
  if (apartMs <= CLOCKS_MS_MAX)
    return [ok('clock', `the clocks of the servers are at most ${apartMs} ms apart`)];
  return [
    warning(
      'clock',
      `the clocks of the servers are up to ${apartMs} ms apart`,
      'keep the clocks of all machines by NTP',
    ),
  ];
}
