/** What the caller's ioredis clients say about where the servers are. Only their settings are read. */
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { TopologyKind } from '../../api/types.ts';

/** As for `new Locks`: one client, a cluster client, or several clients of independent servers. */
export type MonitorRedis = Redis | Cluster | readonly Redis[];

export interface Place {
  /** `host:port`, or the path of a socket. */
  readonly name: string;
  readonly options: RedisOptions;
}

export interface Layout {
  readonly kind: TopologyKind;
  /** Primaries to begin with; of a cluster the nodes that are asked for the others. */
  readonly places: readonly Place[];
  readonly sentinels: readonly Place[];
  /** The name of the primary among the sentinels. */
  readonly sentinelName: string | null;
  readonly keyPrefix: string;
}

export function layoutOf(redis: MonitorRedis): Layout {
  if (redis instanceof Cluster) return clusterLayout(redis);
  const clients = redis instanceof Redis ? [redis] : redis;
  const [first] = clients;
  if (!Array.isArray(clients) || first === undefined || !clients.every((one) => one instanceof Redis)) {
    throw new TypeError('expected redis to be a client of ioredis, a Cluster, or several clients, got none');
  }
  const keyPrefix = String(first.options.keyPrefix ?? '');
  if (clients.length > 1) {
    return {
      kind: 'quorum',
      places: clients.map(placeOf),
      sentinels: [],
      sentinelName: null,
      keyPrefix,
    };
  }
  const { sentinels, name } = first.options;
  const isSentinel = sentinels !== null && sentinels !== undefined && sentinels.length > 0;
  return {
    kind: isSentinel ? 'sentinel' : 'single',
    places: [placeOf(first)],
    sentinels: isSentinel ? sentinels.map((one) => sentinelPlace(first.options, one)) : [],
    sentinelName: isSentinel ? (name ?? null) : null,
    keyPrefix,
  };
}

function placeOf({ options }: Redis): Place {
  if (options.sentinels) return { name: options.name ?? 'primary', options };
  return { name: options.path ?? hostPort(options.host, options.port), options };
}

function sentinelPlace(options: RedisOptions, { host, port }: { host?: string; port?: number }): Place {
  const { sentinelUsername, sentinelPassword, sentinelTLS } = options;
  const settings: RedisOptions = { host: host ?? '127.0.0.1', port: port ?? 26_379 };
  if (sentinelUsername != null) settings.username = sentinelUsername;
  if (sentinelPassword != null) settings.password = sentinelPassword;
  if (sentinelTLS !== undefined) settings.tls = sentinelTLS;
  return { name: hostPort(settings.host, settings.port), options: settings };
}

function clusterLayout(cluster: Cluster): Layout {
  const shared = cluster.options.redisOptions ?? {};
  const { startupNodes = [] } = cluster as unknown as { startupNodes?: readonly unknown[] };
  const seeds = startupNodes.map(readNode);
  return {
    kind: 'cluster',
    places: seeds.map(({ host, port }) => nodePlace(shared, host, port)),
    sentinels: [],
    sentinelName: null,
    keyPrefix: String(cluster.options.keyPrefix ?? ''),
  };
}

function readNode(node: unknown): { host: string; port: number } {
  if (typeof node === 'number') return { host: '127.0.0.1', port: node };
  if (typeof node === 'string') {
    const url = new URL(node.includes('://') ? node : `redis://${node}`);
    return { host: url.hostname, port: Number(url.port || 6379) };
  }
  const { host = '127.0.0.1', port = 6379 } = node as { host?: string; port?: number };
  return { host, port };
}

/** A server beside one that is known: the same login, another address. */
export function nodePlace(like: RedisOptions, host: string, port: number): Place {
  const {
    sentinels: _sentinels,
    name: _name,
    path: _path,
    ...rest
  } = like as RedisOptions & { path?: string };
  return { name: hostPort(host, port), options: { ...rest, host, port } };
}

function hostPort(host = '127.0.0.1', port = 6379): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
