/** The figures of a server's card that come from INFO. */
import type { ServerCard, ServerRole } from '../../api/types.ts';
import { type InfoLines, numberOf, replicasOf } from './server-facts.ts';

type FromInfo = Pick<
  ServerCard,
  | 'version'
  | 'product'
  | 'startedAt'
  | 'memoryUsed'
  | 'memoryLimit'
  | 'memoryLimitFrom'
  | 'evictionPolicy'
  | 'mayEvict'
  | 'evictedTotal'
  | 'cpuSecondsTotal'
  | 'clients'
  | 'clientsLimit'
  | 'rejectedTotal'
  | 'replicas'
  | 'replicasSeenMax'
  | 'replicaLagSeconds'
  | 'persistence'
  | 'keys'
> & { readonly role?: ServerRole };

const NOTHING: FromInfo = {
  version: null,
  product: null,
  startedAt: null,
  memoryUsed: null,
  memoryLimit: null,
  memoryLimitFrom: null,
  evictionPolicy: null,
  mayEvict: null,
  evictedTotal: null,
  cpuSecondsTotal: null,
  clients: null,
  clientsLimit: null,
  rejectedTotal: null,
  replicas: null,
  replicasSeenMax: null,
  replicaLagSeconds: null,
  persistence: null,
  keys: null,
};

/** `memoryLimit` is the configured one, for servers without maxmemory. */
export function cardFigures(
  info: InfoLines | null,
  memoryLimit: number | null,
  replicasSeenMax: number,
  now: number,
): FromInfo {
  if (info === null) return NOTHING;
  const role = roleOf(info);
  const online = replicasOf(info).filter(({ isOnline }) => isOnline);
  const uptime = numberOf(info, 'uptime_in_seconds');
  const maxmemory = numberOf(info, 'maxmemory');
  const policy = info.get('maxmemory_policy') ?? null;
  return {
    ...(role === null ? {} : { role }),
    version: info.get('valkey_version') ?? info.get('redis_version') ?? null,
    product: info.has('valkey_version') ? 'valkey' : info.has('redis_version') ? 'redis' : null,
    startedAt: uptime === null ? null : now - uptime * 1000,
    memoryUsed: numberOf(info, 'used_memory'),
    ...limitOf(maxmemory, memoryLimit, numberOf(info, 'total_system_memory')),
    evictionPolicy: policy,
    mayEvict: maxmemory === null || policy === null ? null : maxmemory > 0 && policy !== 'noeviction',
    evictedTotal: numberOf(info, 'evicted_keys'),
    cpuSecondsTotal: cpuOf(info),
    clients: numberOf(info, 'connected_clients'),
    clientsLimit: numberOf(info, 'maxclients'),
    rejectedTotal: numberOf(info, 'rejected_connections'),
    replicas: role === 'primary' ? online.length : null,
    replicasSeenMax: role === 'primary' ? Math.max(replicasSeenMax, online.length) : null,
    replicaLagSeconds:
      role === 'replica'
        ? numberOf(info, 'master_last_io_seconds_ago')
        : online.reduce<number | null>(
            (most, { lagSeconds }) => (lagSeconds === null ? most : Math.max(most ?? 0, lagSeconds)),
            null,
          ),
    persistence: persistenceOf(info),
    keys: keysOf(info),
  };
}

function roleOf(info: InfoLines): ServerRole | null {
  const role = info.get('role');
  if (role === 'master') return 'primary';
  return role === 'slave' ? 'replica' : null;
}

function limitOf(
  maxmemory: number | null,
  configured: number | null,
  host: number | null,
): Pick<ServerCard, 'memoryLimit' | 'memoryLimitFrom'> {
  if (maxmemory !== null && maxmemory > 0) return { memoryLimit: maxmemory, memoryLimitFrom: 'maxmemory' };
  if (configured !== null) return { memoryLimit: configured, memoryLimitFrom: 'config' };
  return { memoryLimit: host, memoryLimitFrom: host === null ? null : 'host' };
}

/** The CPU time of the main thread, which all commands wait for, where the server tells it; otherwise of the process. */
function cpuOf(info: InfoLines): number | null {
  const user = numberOf(info, 'used_cpu_user_main_thread') ?? numberOf(info, 'used_cpu_user');
  const system = numberOf(info, 'used_cpu_sys_main_thread') ?? numberOf(info, 'used_cpu_sys');
  return user === null || system === null ? null : user + system;
}

function persistenceOf(info: InfoLines): ServerCard['persistence'] {
  const states = ['rdb_last_bgsave_status', 'aof_last_bgrewrite_status', 'aof_last_write_status'];
  const found = states.flatMap((name) => info.get(name) ?? []);
  if (found.length === 0) return null;
  return found.every((state) => state === 'ok') ? 'ok' : 'failing';
}

function keysOf(info: InfoLines): number {
  let keys = 0;
  for (const [name, value] of info) {
    if (/^db\d+$/.test(name)) keys += Number(/keys=(\d+)/.exec(value)?.[1] ?? 0);
  }
  return keys;
}

export interface Rates {
  readonly cpu: number | null;
  readonly commandsPerSecond: number | null;
  readonly evictedPerSecond: number | null;
  readonly rejectedPerSecond: number | null;
  readonly expiredPerSecond: number | null;
  readonly netInPerSecond: number | null;
  readonly netOutPerSecond: number | null;
  readonly ownCommandsPerSecond: number;
}

/** A counter that fell was of another process: then there is no rate. */
export function ratesBetween(before: InfoLines, after: InfoLines, seconds: number, sent: number): Rates {
  const isSame = before.get('run_id') === after.get('run_id');
  const rate = (from: number | null, to: number | null): number | null =>
    !isSame || from === null || to === null || to < from ? null : (to - from) / seconds;
  const of = (name: string): number | null => rate(numberOf(before, name), numberOf(after, name));
  return {
    cpu: rate(cpuOf(before), cpuOf(after)),
    commandsPerSecond: of('total_commands_processed'),
    evictedPerSecond: of('evicted_keys'),
    rejectedPerSecond: of('rejected_connections'),
    expiredPerSecond: of('expired_keys'),
    netInPerSecond: of('total_net_input_bytes'),
    netOutPerSecond: of('total_net_output_bytes'),
    ownCommandsPerSecond: sent / seconds,
  };
}
