/** The library over the servers that were asked for: one, a cluster, or a quorum of several. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Locks, type LocksOptions } from 'holdfast';
import { Cluster, Redis } from 'ioredis';
import { isCluster, type ServerFlags } from './address.ts';
import type { Servers } from './connection.ts';

/** How long `close` may take for the last releases: many round trips to a server that answers. */
export const CLOSE_MS_MAX = 1_000;

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

/** Closes within CLOSE_MS_MAX. Leases that are not released by then expire on the server. */
export async function closeInTime(locks: Locks): Promise<void> {
  const limit = new AbortController();
  const over = sleep(CLOSE_MS_MAX, undefined, { signal: limit.signal }).catch(() => {});
  await Promise.race([locks.close(), over]);
  limit.abort();
  await locks.destroy();
}
