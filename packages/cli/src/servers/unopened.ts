/** Clients with the settings of the command line, not connected: for what opens connections of its own. */
import { Cluster, Redis } from 'ioredis';
import { type Address, type Environment, isCluster, resolveAddresses, type ServerFlags } from './address.ts';

/** One client, a cluster, or several clients of a quorum. */
export function unopenedClients(
  flags: ServerFlags,
  environment: Environment = process.env,
  source?: string,
): Redis | Cluster | Redis[] {
  const addresses = resolveAddresses(flags, environment, source);
  if (isCluster(flags, environment)) return clusterOf(addresses);
  const clients = addresses.map(clientOf);
  const [only] = clients;
  return clients.length === 1 && only !== undefined ? only : clients;
}

function clientOf({ options }: Address): Redis {
  const { sentinels, tls, ...rest } = options;
  const redis = new Redis({
    ...rest,
    ...(sentinels === undefined ? {} : { sentinels: [...sentinels] }),
    ...(tls === undefined ? {} : { tls: { ...tls } }),
    lazyConnect: true,
  });
  redis.on('error', () => {});
  return redis;
}

function clusterOf(addresses: readonly Address[]): Cluster {
  const nodes = addresses.map(({ options: { host = '127.0.0.1', port = 6379 } }) => ({ host, port }));
  const { host: _host, port: _port, sentinels: _sentinels, tls, ...shared } = addresses[0]?.options ?? {};
  const cluster = new Cluster(nodes, {
    lazyConnect: true,
    redisOptions: { ...shared, ...(tls === undefined ? {} : { tls: { ...tls } }) },
  });
  cluster.on('error', () => {});
  return cluster;
}
