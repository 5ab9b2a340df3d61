/** Asks one server what the checks want to know. What it does not tell is null. */
import type { Redis } from 'ioredis';
import type { Server } from '../servers/server.ts';

export interface ReplicaFacts {
  readonly address: string;
  readonly lagS: number;
}

/** From INFO and CONFIG, as the server has it. */
export interface ServerSettings {
  /** `Redis 7.0.15`, `Valkey 8.0.1`. */
  readonly product: string;
  readonly major: number;
  readonly runId: string;
  readonly uptimeMs: number;
  readonly role: string;
  readonly isCluster: boolean;
  readonly maxMemory: number;
  readonly evictionPolicy: string;
  readonly hasAof: boolean;
  /** `always`, `everysec`, `no`; null when the server does not tell its configuration. */
  readonly appendFsync: string | null;
  /** Whether snapshots are taken; null when the server does not tell. */
  readonly hasSnapshots: boolean | null;
  /** The last write to disk failed, and the server may refuse writes for it. */
  readonly hasFailedWrite: boolean;
  readonly replicas: readonly ReplicaFacts[];
  readonly minReplicas: number | null;
}

export interface ServerFacts {
  readonly label: string;
  /** Null when the user may not ask. */
  readonly settings: ServerSettings | null;
  /** Its clock against ours; positive when it is ahead. Within half a round trip. */
  readonly clockOffsetMs: number | null;
  readonly latencyP50Ms: number;
  readonly latencyMaxMs: number;
}

const ROUND_TRIPS = 20;

/** How many slots of a cluster have a node that is up, as the first that tells sees it; null when none does. */
export async function readServedSlots(servers: readonly Server[]): Promise<number | null> {
  for (const { redis } of servers) {
    const info = await redis.call('CLUSTER', 'INFO').catch(() => '');
    const served = /^cluster_slots_ok:(\d+)/m.exec(String(info))?.[1];
    if (served !== undefined) return Number(served);
  }
  return null;
}

export async function collectFacts({ label, redis }: Server): Promise<ServerFacts> {
  const latencies = await measureLatencies(redis);
  return {
    label,
    settings: await readSettings(redis),
    clockOffsetMs: await measureClock(redis),
    latencyP50Ms: latencies[Math.floor(latencies.length / 2)] ?? 0,
    latencyMaxMs: latencies.at(-1) ?? 0,
  };
}

async function measureLatencies(redis: Redis): Promise<number[]> {
  const latencies: number[] = [];
  for (let trip = 0; trip < ROUND_TRIPS; trip += 1) {
    const sentMs = performance.now();
    // A refusal takes a round trip too.
    await redis.ping().catch(() => {});
    latencies.push(performance.now() - sentMs);
  }
  return latencies.sort((a, b) => a - b);
}

async function measureClock(redis: Redis): Promise<number | null> {
  const sentMs = Date.now();
  const time = await redis.time().catch(() => null);
  if (time === null) return null;
  const middleMs = (sentMs + Date.now()) / 2;
  return Number(time[0]) * 1000 + Number(time[1]) / 1000 - middleMs;
}

async function readSettings(redis: Redis): Promise<ServerSettings | null> {
  const text = await redis.info().catch(() => null);
  if (text === null) return null;
  const fsync = await readConfig(redis, 'appendfsync');
  const save = await readConfig(redis, 'save');
  const minReplicas = await readConfig(redis, 'min-replicas-to-write');
  return parseSettings(text, { fsync, save, minReplicas });
}

async function readConfig(redis: Redis, name: string): Promise<string | null> {
  const pair: unknown = await redis.config('GET', name).catch(() => null);
  if (Array.isArray(pair) && typeof pair[1] === 'string') return pair[1];
  // Newer servers and clients agree on a map instead.
  if (typeof pair !== 'object' || pair === null) return null;
  const value: unknown = Reflect.get(pair, name);
  return typeof value === 'string' ? value : null;
}

export interface Configuration {
  readonly fsync: string | null;
  readonly save: string | null;
  readonly minReplicas: string | null;
}

export function parseSettings(text: string, { fsync, save, minReplicas }: Configuration): ServerSettings {
  const info = new Map(
    [...text.matchAll(/^([^#:\r\n]+):([^\r\n]*)/gm)].map(([, key, value]) => [key, value]),
  );
  const read = (key: string): string => info.get(key) ?? '';
  const version = read('valkey_version') || read('redis_version');
  const name = read('valkey_version') === '' ? 'Redis' : 'Valkey';
  const other = ['dragonfly_version', 'keydb_version'].find((key) => info.has(key));
  const failures = [
    read('aof_last_write_status'),
    read('aof_last_bgrewrite_status'),
    read('rdb_last_bgsave_status'),
  ];
  return {
    product: other === undefined ? `${name} ${version}` : `${other.replace('_version', '')} ${read(other)}`,
    major: Number.parseInt(version, 10) || 0,
    runId: read('run_id'),
    uptimeMs: Number(read('uptime_in_seconds')) * 1000,
    role: read('role'),
    isCluster: read('cluster_enabled') === '1',
    maxMemory: Number(read('maxmemory')),
    evictionPolicy: read('maxmemory_policy'),
    hasAof: read('aof_enabled') === '1',
    appendFsync: fsync,
    hasSnapshots: save === null ? null : save !== '',
    hasFailedWrite: failures.includes('err'),
    replicas: parseReplicas(info),
    minReplicas: minReplicas === null ? null : Number(minReplicas),
  };
}

function parseReplicas(info: ReadonlyMap<string | undefined, string | undefined>): ReplicaFacts[] {
  return [...info].flatMap(([key = '', value = '']) => {
    if (!/^slave\d+$/.test(key)) return [];
    const fields = new Map(value.split(',').map((pair) => pair.split('=') as [string, string]));
    const address = `${fields.get('ip') ?? '?'}:${fields.get('port') ?? '?'}`;
    // A replica that is still catching up has no lag to tell.
    const lagS = fields.get('state') === 'online' ? Number(fields.get('lag')) : Number.POSITIVE_INFINITY;
    return [{ address, lagS }];
  });
}
