/** Who has a lock or a mutex, in the words of those who look at it from outside. */
import { createHash } from 'node:crypto';
import type { Kind } from '../topologies/topology.ts';

/**
 * A mutex has a digest for an owner, the one that lua/include/mutex-owner.lua makes: its token is the right to release
 * it, and looking must not give that right away.
 */
export function shownOwner(kind: Kind, holder: string): string {
  return kind === 'mutex' ? createHash('sha1').update(holder).digest('hex') : holder;
}
