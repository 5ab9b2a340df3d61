/** What the facts about one server mean for locks on it. */
import { formatDuration } from '../duration.ts';
import { ok, problem, type Verdict, warning } from './finding.ts';
import type { ServerFacts, ServerSettings } from './server-facts.ts';

/** What the servers are used for. */
export interface Plan {
  readonly isQuorum: boolean;
  readonly isCluster: boolean;
  readonly leaseMs: number;
}

const MAJOR_MIN = 7;
/** A second is what administrators notice themselves; time servers keep a hundred times closer. */
const CLOCK_MS_MAX = 1_000;
const LAG_S_MAX = 1;
/** A renewal must get through several times within a lease. */
const LATENCY_SHARE_MAX = 1 / 20;
const LATENCY_P50_MS_MAX = 50;

export function checkServer(facts: ServerFacts, plan: Plan): Verdict[] {
  const { settings } = facts;
  const asked = settings === null ? [blind()] : checkSettings(settings, plan);
  return [...asked, checkClock(facts), checkLatency(facts, plan)];
}

function blind(): Verdict {
  return warning(
    'version',
    'the user may not run INFO, so nothing is known about version, role, persistence and eviction',
    'run the doctor once as a user with +info and +config|get',
  );
}

function checkSettings(settings: ServerSettings, plan: Plan): Verdict[] {
  return [
    checkVersion(settings),
    checkRole(settings, plan),
    ...checkPersistence(settings, plan),
    checkEviction(settings),
    ...checkReplicas(settings),
    checkUptime(settings, plan),
  ];
}

function checkVersion({ product, major }: ServerSettings): Verdict {
  if (!/^(Redis|Valkey) /.test(product)) {
    return warning(
      'version',
      `${product} is not a server that holdfast is tested with`,
      'use Redis or Valkey',
    );
  }
  if (major >= MAJOR_MIN) return ok('version', `${product}`);
  return problem(
    'version',
    `${product} does not have what the scripts need`,
    `use Redis ${MAJOR_MIN}.0 or newer, or Valkey`,
  );
}

function checkRole({ role, isCluster }: ServerSettings, plan: Plan): Verdict {
  if (isCluster && !plan.isCluster) {
    return problem(
      'role',
      'the server is part of a Redis Cluster: it has the names of its own slots only',
      'use --cluster, and hand your program a cluster client',
    );
  }
  if (role === 'master') return ok('role', 'it is a primary');
  return problem(
    'role',
    `it is a ${role === 'slave' ? 'replica' : role}: locks are taken on a primary`,
    'give the address of the primary, or its sentinels',
  );
}

function checkPersistence(settings: ServerSettings, { isQuorum }: Plan): Verdict[] {
  const { hasAof, appendFsync, hasSnapshots, hasFailedWrite } = settings;
  const failed = hasFailedWrite
    ? [
        problem(
          'persistence',
          'the last write to disk failed: the server may refuse writes, and locks with them',
          "look at the server's disk and its log",
        ),
      ]
    : [];
  return [...failed, judgePersistence(hasAof, appendFsync, hasSnapshots, isQuorum)];
}

function judgePersistence(
  hasAof: boolean,
  fsync: string | null,
  hasSnapshots: boolean | null,
  isQuorum: boolean,
): Verdict {
  if (hasAof && fsync === 'always') return ok('persistence', 'every lock is on disk before it is granted');
  const lost = hasAof
    ? 'a crash forgets the locks of the last second'
    : hasSnapshots === false
      ? 'nothing is kept: a restart forgets every lock'
      : 'a restart forgets the locks since the last snapshot';
  if (isQuorum) {
    // The delayed restart of the Redlock paper, which the library sees to.
    return ok(
      'persistence',
      `${lost}; in a quorum a server does not vote until it has been up for the longest lease`,
    );
  }
  return warning(
    'persistence',
    `${lost}, and lets others in beside owners who are still at work`,
    'set appendonly yes and appendfsync always, or have what the lock protects check the fence',
  );
}

function checkEviction({ maxMemory, evictionPolicy }: ServerSettings): Verdict {
  if (maxMemory === 0) return ok('eviction', 'the server has no memory limit, so it evicts nothing');
  if (evictionPolicy === 'noeviction')
    return ok('eviction', 'a full server refuses writes and evicts nothing');
  return problem(
    'eviction',
    `maxmemory-policy is ${evictionPolicy}: a full server may evict a lock that is held`,
    'set maxmemory-policy noeviction, or give the locks a server of their own',
  );
}

function checkReplicas({ role, replicas, minReplicas }: ServerSettings): Verdict[] {
  if (role !== 'master' || replicas.length === 0) return [];
  const late = replicas.filter(({ lagS }) => lagS > LAG_S_MAX);
  const verdicts = late.map(({ address, lagS }) =>
    warning(
      'replicas',
      `the replica ${address} is ${Number.isFinite(lagS) ? `${lagS} s behind` : 'not in step yet'}: a failover to it forgets the locks since then`,
      'look at the network and the load of that replica',
    ),
  );
  if (minReplicas === null) return verdicts;
  if (minReplicas === 0) {
    verdicts.push(
      warning(
        'replicas',
        'min-replicas-to-write is 0: a primary that is cut off goes on granting locks that its successor grants again',
        'set min-replicas-to-write 1 and min-replicas-max-lag to less than the lease',
      ),
    );
  }
  return verdicts.length > 0
    ? verdicts
    : [ok('replicas', `${replicas.length} in step, min-replicas-to-write is ${minReplicas}`)];
}

function checkUptime({ uptimeMs }: ServerSettings, { isQuorum, leaseMs }: Plan): Verdict {
  const up = formatDuration(uptimeMs);
  if (uptimeMs >= leaseMs)
    return ok('uptime', `up for ${up}, longer than the lease of ${formatDuration(leaseMs)}`);
  const effect = isQuorum
    ? 'it does not vote until it has been up for the longest lease'
    : 'owners from before may still be at work with locks that it has forgotten';
  return warning(
    'uptime',
    `up for ${up} only: ${effect}`,
    `wait until it has been up for ${formatDuration(leaseMs)}`,
  );
}

function checkClock({ clockOffsetMs }: ServerFacts): Verdict {
  if (clockOffsetMs === null) {
    return problem('clock', 'the user may not run TIME, which the scripts need', 'give the user +time');
  }
  const away = `${Math.abs(Math.round(clockOffsetMs))} ms ${clockOffsetMs < 0 ? 'behind' : 'ahead of'} ours`;
  if (Math.abs(clockOffsetMs) <= CLOCK_MS_MAX) return ok('clock', `its clock is ${away}`);
  return warning(
    'clock',
    `its clock is ${away}: when it is put right, fences stand still or leases end at the wrong time`,
    'keep the clocks of both machines by NTP, and let them slew, not step',
  );
}

function checkLatency({ latencyP50Ms, latencyMaxMs }: ServerFacts, { leaseMs }: Plan): Verdict {
  const measured = `a round trip takes ${latencyP50Ms.toFixed(1)} ms, at most ${latencyMaxMs.toFixed(1)} ms`;
  const isSlow = latencyP50Ms > LATENCY_P50_MS_MAX || latencyMaxMs > leaseMs * LATENCY_SHARE_MAX;
  if (!isSlow) return ok('latency', measured);
  return warning(
    'latency',
    `${measured}: renewals may come late`,
    'use a server nearby, a longer lease, or find out what slows the server',
  );
}
