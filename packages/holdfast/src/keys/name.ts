/**
 * Names and the Redis keys and channels made from them: Redisson's, to the byte.
 *
 * In this folder: what is computed from a name without asking Redis: keys, channels and the slot of a cluster. All
 * layers above import from here.
 */

import { LockConfigError } from '../errors.ts';
import { describe } from '../runtime/describe.ts';
import { derived } from './derived.ts';
import { slotTag } from './slot.ts';

/** Longer names are a mistake (a whole document as a key) more often than a need. */
export const NAME_BYTES_MAX = 1024;

/** Returns the name, or throws what is wrong with it. Any bytes are fine, NUL included. */
export function checkName(name: unknown, what = 'a lock name'): string {
  if (typeof name !== 'string' || name === '') {
    throw new LockConfigError(`expected ${what} to be a non-empty string, got ${describe(name)}`);
  }
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) {
    const got = `${Buffer.byteLength(name)} bytes beginning ${describe(name.slice(0, 32))}`;
    throw new LockConfigError(`expected ${what} of at most ${NAME_BYTES_MAX} bytes, got ${got}`);
  }
  if (!name.isWellFormed()) {
    // Half a surrogate pair becomes U+FFFD on the wire: two different names would be one lock.
    throw new LockConfigError(
      `expected ${what} that UTF-8 can carry, got ${describe(name)} with half a surrogate`,
    );
  }
  return name;
}

/** Whether everything that is made from a key lives in its slot. */
export function sharesSlot(key: string): boolean {
  return slotTag(key) === slotTag(fenceKey(key));
}

/**
 * In a cluster all keys and channels of a name must live in one slot. By Redisson's rule they do, unless the name
 * has a brace without its partner or nothing between the first two.
 */
export function checkSlots(name: string, key: string): void {
  if (sharesSlot(key)) return;
  const expected = 'a lock name for a cluster without braces, or with something between the first { and a }';
  const prefixed = key === name ? '' : `, as the key ${describe(key)}`;
  throw new LockConfigError(`expected ${expected}, got ${describe(name)}${prefixed}`);
}

/** Redisson's rule: braces are added unless the name already brings one. */
function tagged(prefix: string, key: string): string {
  return key.includes('{') ? `${prefix}:${key}` : `${prefix}:{${key}}`;
}

/** Where the waiters of a lock listen. */
export function lockChannel(key: string): string {
  return tagged('redisson_lock__channel', key);
}

/** The counter of a lock's fences. */
export function fenceKey(key: string): string {
  return tagged('redisson_lock_token', key);
}

/** The line of waiters of a name. Ours alone: `a` and `{a}`, which by Redisson's rule share a counter, have two lines. */
export function lineKey(key: string): string {
  return derived('holdfast_line', key);
}

/** The record of a session. Not under the prefix of any `Locks`: session ids are unique, and an operator may know no prefix. */
export function sessionKey(session: string): string {
  return `holdfast_session:${session}`;
}

/** Where a session hears of its grants, on one server: one channel for all names, which reads as the key of its record. */
export function sessionChannel(session: string): string {
  return sessionKey(session);
}

/** Where a session hears of its grants, in a cluster: one channel for each name, in the slot of its key. */
export function lineChannel(key: string, session: string): string {
  return `${lineKey(key)}:${session}`;
}

/** Where the waiters of a mutex listen. Ours alone: the format itself has no messages. */
export function mutexChannel(key: string): string {
  return tagged('holdfast_mutex__channel', key);
}
