/** The library over the servers that were asked for: one, or a quorum of several. */
import { Locks, type LocksOptions } from 'holdfast';
import { Redis } from 'ioredis';
import type { Servers } from './connection.ts';

export function openLocks({ clients }: Servers, options: LocksOptions): Locks {
  const [only, ...others] = clients;
  return new Locks(only !== undefined && others.length === 0 ? only : clients, options);
}

/** Refuses a name that no lock can have, before anything is connected. */
export function checkName(name: string): void {
  new Locks(new Redis({ lazyConnect: true })).lock(name);
}
