/** An answer that comes when the lease it grants is over, or nearly, is no success: it is undone. */
import { expect, test } from 'vitest';
import { type Locks, LockUnavailableError, LockUnknownError } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held, untilFree } from '../../support/locks/held.ts';
import type { Kind } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import type { FaultProxy } from '../../support/proxies/fault-proxy.ts';
import { rejection } from '../../support/rejection.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const LEASE_MS = 1_500;
const SLOW_MS = 1_600;

interface Cell {
  readonly kind: Kind;
  readonly proxy: FaultProxy;
  readonly locks: Locks;
  readonly name: string;
}

/** Every client with every kind, each behind a network of its own, side by side: slowness takes time. */
async function inEachCell(run: (cell: Cell) => Promise<void>): Promise<void> {
  const runs = MATRIX.map(async ({ client, kind }) => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, callTimeoutMs: 10_000 });
    const name = bench.name();
    await warmUp(locks, kind, `warm-up:${name}`);
    // Otherwise a connection that takes so long to answer is replaced by one that works.
    proxy.refuse();
    await run({ kind, proxy, locks, name }).catch((cause: unknown) => {
      throw new Error(`${client}, ${kind.name}: ${String(cause)}`, { cause });
    });
    await untilFree(redis.port, kind, name);
  });
  await Promise.all(runs);
}

test('an answer that takes longer than the lease is no success for a try, and what it granted is removed', async () => {
  await inEachCell(async ({ kind, proxy, locks, name }) => {
    const slow = proxy.delayReply(kind.acquires, SLOW_MS);
    const trying = rejection(kind.of(locks, name).tryAcquire({ leaseMs: LEASE_MS }));
    await slow;
    // Granted there: a lease, counted from before the request was sent, is over when we hear of it.
    expect(await held(redis.port, kind, name)).not.toBeNull();
    const error = await trying;
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(error).toMatchObject({ lock: name, servers: [{ kind: 'late' }] });
  });
});

test('an answer that leaves only the drift of the lease is no success, and is undone by a release', async () => {
  await inEachCell(async ({ kind, proxy, locks, name }) => {
    // 1 % and 2 ms before the server lets it go: for us it is over.
    const slow = proxy.delayReply(kind.acquires, 1_980);
    proxy.clearHistory();
    const trying = rejection(kind.of(locks, name).tryAcquire({ leaseMs: 2_000 }));
    await slow;
    expect(await trying).toBeInstanceOf(LockUnavailableError);
    await waitFor(() => proxy.history.some(kind.releases), { what: 'the release' });
  });
});

test('an answer that takes too long is followed by another attempt for a caller that waits', async () => {
  await inEachCell(async ({ kind, proxy, locks, name }) => {
    const slow = proxy.delayReply(kind.acquires, SLOW_MS, 2);
    const askedMs = performance.now();
    const lease = await kind.of(locks, name).acquire({ leaseMs: LEASE_MS, renew: false });
    await slow;
    // Two answers were waited for and not believed; the third counts from its own request.
    expect(performance.now() - askedMs).toBeGreaterThanOrEqual(2 * SLOW_MS);
    expect(lease.remainingMs).toBeLessThan(LEASE_MS);
    expect(await lease.release()).toBe(true);
  });
});

test('a caller whose every answer is too slow never gets in', async () => {
  await inEachCell(async ({ kind, proxy, locks, name }) => {
    void proxy.delayReply(kind.acquires, SLOW_MS, 1_000);
    let hasRun = false;
    const body = (): void => {
      hasRun = true;
    };
    const error = await rejection(
      kind.of(locks, name).using(body, { leaseMs: LEASE_MS, waitMs: 2.5 * LEASE_MS }),
    );
    // The last attempt may have been cut short by the end of the wait.
    expect(error instanceof LockUnavailableError || error instanceof LockUnknownError).toBe(true);
    expect(hasRun).toBe(false);
  });
});
