/** Sessions brought to a state in which a test can begin. */
import type { Lease, Locks } from '../../../src/index.ts';
import type { FaultProxy } from '../proxies/fault-proxy.ts';
import { waitFor } from '../wait-for.ts';
import type { Kind } from './kind.ts';

/**
 * From here the session has its connection, and knows the server's time; the server knows the scripts. Patient,
 * because on a busy machine a first connection can take longer than the time limits that a test is about.
 */
export async function warmUp(locks: Locks, kind: Kind, name = 'warm-up'): Promise<void> {
  await waitFor(async () => (await kind.of(locks, name).acquire()).release(), {
    limitMs: 60_000,
    what: 'a first acquisition and release',
  });
}

/** Resolves when a caller of that session, behind that proxy, waits for the name and its attempts are answered. */
export async function untilAsleep(locks: Locks, proxy: FaultProxy, kind: Kind, name: string): Promise<void> {
  const attempts = (): number =>
    proxy.history.filter(kind.acquires).filter((args) => args.includes(name)).length;
  await waitFor(() => attempts() >= 2, { limitMs: 20_000, what: 'the attempt behind the subscription' });
  // Sent behind that attempt on the same connection, so answered behind it.
  await locks.inspect(name);
}

/** Resolves when the lease has been renewed from now on: its time left has gone up. A lease that is lost is an error. */
export async function untilRenewed(lease: Lease, limitMs?: number): Promise<void> {
  let leastMs = lease.remainingMs;
  await waitFor(
    () => {
      const { remainingMs } = lease;
      const hasGrown = remainingMs > leastMs + 50;
      leastMs = Math.min(leastMs, remainingMs);
      return hasGrown || lease.signal.aborted;
    },
    { what: 'a renewal', ...(limitMs === undefined ? {} : { limitMs }) },
  );
  lease.signal.throwIfAborted();
}
