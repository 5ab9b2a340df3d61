/** Who has a lock or a mutex, in the words of those who look at it from outside. */
import { createHash } from 'node:crypto';

/**
 * A mutex has a digest for an owner, the one that lua/include/mutex-owner.lua makes: its token is the right to release
 * it, and looking must not give that right away.
 */
export function shownOwner(kind: string, holder: string): string {
  return kind === 'mutex' ? createHash('sha1').update(holder).digest('hex') : holder;
}
