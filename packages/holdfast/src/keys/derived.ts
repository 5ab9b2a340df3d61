/**
 * Keys of ours that are made from a name, of locks with another purpose than to lock that name: the run of a once key, a
 * leader, the run of a job. The key that a name gives stays free for a lock of that name.
 */

/** What such a lock is for. */
export type Role = 'once' | 'leader' | 'job';

const LOCKS: readonly (readonly [Role, string])[] = [
  ['once', 'holdfast_once_lock'],
  ['leader', 'holdfast_leader'],
  ['job', 'holdfast_job_lock'],
];

const JOB = 'holdfast_job';

/**
 * In the slot of the key, and never the same for two keys: `a` and `{a}` share a channel, which does no harm, but must not
 * share a result or a line. Keys that bring a brace have two colons.
 */
export function derived(prefix: string, key: string): string {
  return key.includes('{') ? `${prefix}::${key}` : `${prefix}:{${key}}`;
}

/** The key that another was derived from by that prefix; null for any other key. */
function origin(prefix: string, text: string): string | null {
  if (!text.startsWith(`${prefix}:`)) return null;
  const rest = text.slice(prefix.length + 1);
  const key = rest.startsWith(':') ? rest.slice(1) : rest.slice(1, -1);
  return key !== '' && derived(prefix, key) === text ? key : null;
}

/** How much longer than the key it is made from the key of such a lock may be. */
export const DERIVED_BYTES_MAX: number = Math.max(...LOCKS.map(([, prefix]) => derived(prefix, '').length));

/** The lock of a run of a once key. Every key that is made from it is in the slot of the once key. */
export function onceLockKey(key: string): string {
  return derived('holdfast_once_lock', key);
}

/** The record of a once key: its state, its attempts, its result. */
export function onceRecordKey(key: string): string {
  return derived('holdfast_once', key);
}

/** The lock of a leader. */
export function leaderKey(key: string): string {
  return derived('holdfast_leader', key);
}

/** The lock of a run of a job. */
export function jobLockKey(key: string): string {
  return derived('holdfast_job_lock', key);
}

/** The marker of a job: its last run and its next slot. */
export function jobKey(key: string): string {
  return derived(JOB, key);
}

/** The key that the marker of a job was made from; null for any other key. */
export function originOfJob(marker: string): string | null {
  return origin(JOB, marker);
}

/** Whether those who wait for the lock under that key stand in a line. The runs of once keys and of jobs have none. */
export function hasLineOfWaiters(lockKey: string): boolean {
  const role = roleOf(lockKey)?.role;
  return role !== 'once' && role !== 'job';
}

/** What the lock under that key is for, and the key that it was made from; null for an ordinary key. */
export function roleOf(lockKey: string): { readonly role: Role; readonly origin: string } | null {
  for (const [role, prefix] of LOCKS) {
    const key = origin(prefix, lockKey);
    if (key !== null) return { role, origin: key };
  }
  return null;
}
