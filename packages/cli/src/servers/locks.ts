/** The library over the servers that were asked for: one, or a quorum of several. */
import { Locks, type LocksOptions, type RedisClient } from 'holdfast';
import { Redis } from 'ioredis';
import type { Servers } from './connection.ts';

export function openLocks({ clients }: Servers, options: LocksOptions): Locks {
  // An array is a quorum.
  const client = clients.length === 1 ? clients[0] : clients;
  return new Locks(client as RedisClient, options);
}

/** Refuses a name that no lock can have, before anything is connected. */
export function checkName(name: string): void {
  new Locks(new Redis({ lazyConnect: true })).lock(name);
}
