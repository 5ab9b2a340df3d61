/** The library over the servers that were asked for: one, a cluster, or a quorum of several. */
import { Locks, type LocksOptions } from 'holdfast';
import { Cluster, Redis } from 'ioredis';
import { isCluster, type ServerFlags } from './address.ts';
import type { Servers } from './connection.ts';

export function openLocks({ clients, cluster }: Servers, options: LocksOptions): Locks {
  if (cluster !== null) return new Locks(cluster.client, options);
  const [only, ...others] = clients;
  return new Locks(only !== undefined && others.length === 0 ? only : clients, options);
}

/** Refuses a name that no lock can have, before anything is connected. */
export function checkName(name: string, flags: ServerFlags & { readonly prefix?: string }): void {
  const client = isCluster(flags, process.env)
    ? new Cluster([], { lazyConnect: true })
    : new Redis({ lazyConnect: true });
  new Locks(client, { prefix: flags.prefix ?? '' }).lock(name);
}
