/** Finds the primaries of a cluster, and makes the client that the library takes its settings from. */
import { Cluster, type Redis } from 'ioredis';
import { Failure, oneLine } from '../failure.ts';
import type { Address } from './address.ts';
import type { Server } from './server.ts';

export interface ClusterAccess {
  /** Never connected: the library opens its own connections with the settings of this client. */
  readonly client: Cluster;
  readonly primaries: readonly Address[];
}

/** Asks the servers in turn until one tells. */
export async function findCluster(
  named: readonly Address[],
  servers: readonly Server[],
): Promise<ClusterAccess> {
  const [first] = named as [Address];
  const { host: _host, port: _port, sentinels: _sentinels, tls, ...options } = first.options;
  const shared = { ...options, ...(tls === undefined ? {} : { tls: { ...tls } }) };
  let reason = '';
  for (const { label, redis } of servers) {
    const nodes = await primariesOf(redis).catch((error: unknown) => {
      reason = `${label}: ${oneLine(error instanceof Error ? error.message : String(error))}`;
      return null;
    });
    if (nodes === null) continue;
    const primaries = nodes.map((node) => ({
      label: `${tls === undefined ? 'redis' : 'rediss'}://${node.host}:${node.port}`,
      options: { ...shared, ...node },
    }));
    const client = new Cluster([...nodes], {
      lazyConnect: true,
      clusterRetryStrategy: () => null,
      redisOptions: { ...shared, disconnectTimeout: 0 },
    });
    client.on('error', () => {});
    return { client, primaries };
  }
  const isAlone = /cluster support disabled/i.test(reason);
  if (isAlone) throw new Failure('usage', `--cluster: expected nodes of a Redis Cluster, got ${reason}`);
  throw new Failure(/NOPERM/.test(reason) ? 'refused' : 'unreachable', reason);
}

interface Node {
  readonly host: string;
  readonly port: number;
}

async function primariesOf(redis: Redis): Promise<Node[]> {
  const ranges = (await redis.call('CLUSTER', 'SLOTS')) as readonly [
    number,
    number,
    [string | null, number],
  ][];
  const nodes = ranges.map(([, , [host, port]]) => ({
    host: host || (redis.options.host ?? '127.0.0.1'),
    port,
  }));
  if (nodes.length === 0) throw new Error('no slot of this cluster has a node');
  return [...new Map(nodes.map((node) => [`${node.host}:${node.port}`, node])).values()];
}
