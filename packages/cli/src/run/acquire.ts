/** Takes the lock for `run`: prints who holds it while it waits, and fails with who holds it when the wait is over. */
import type { FencedLease, Locks } from 'holdfast';
import { formatDuration } from '../duration.ts';
import { Failure } from '../failure.ts';
import { LockReader } from '../locks/lock-reader.ts';
import { describeHolder, isHeld } from '../locks/lock-view.ts';
import { quote } from '../printable.ts';
import type { Servers } from '../servers/connection.ts';
import { WaitNotice } from './wait-notice.ts';

export interface WaitFlags {
  /** Milliseconds; false: one try; absent: as long as it takes. */
  readonly wait?: number | boolean;
  /** Milliseconds. */
  readonly lease: number;
  readonly onBusyExit: number;
  readonly quiet?: boolean;
}

export async function acquire(
  name: string,
  { wait, lease: leaseMs, onBusyExit, quiet }: WaitFlags,
  locks: Locks,
  servers: Servers,
  signal: AbortSignal,
): Promise<FencedLease> {
  const reader = LockReader.over(servers, locks);
  const startedMs = performance.now();
  const over = new AbortController();
  if (quiet !== true) void new WaitNotice(reader, servers, name, leaseMs).follow(over.signal);
  try {
    const lock = locks.lock(name);
    if (wait === false) {
      const lease = await lock.tryAcquire({ signal });
      if (lease !== null) return lease;
    } else {
      return await lock.acquire(typeof wait === 'number' ? { waitMs: wait, signal } : { signal });
    }
  } catch (error) {
    if (!isBusy(error)) throw error;
  } finally {
    over.abort();
  }
  const waited = wait === false ? '' : `waited ${formatDuration(performance.now() - startedMs)}; `;
  throw new Failure(onBusyExit, `lock ${quote(name)}: ${waited}${await holderOf(reader, name)} holds it`);
}

/** In words; 'somebody else' when the lock was released meanwhile or the server does not say. */
async function holderOf(reader: LockReader, name: string): Promise<string> {
  try {
    const found = await reader.inspect(name);
    if (found !== null && isHeld(found)) return describeHolder(await reader.view(found));
  } catch {
    // The holder is only for the message.
  }
  return 'somebody else';
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ELOCKTIMEOUT';
}
