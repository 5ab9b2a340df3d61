/** An answer that comes when the lease it grants is over, or nearly, is no success: it is undone. */
import { describe, expect, test } from 'vitest';
import { LockUnavailableError, LockUnknownError } from '../../src/index.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { useRedis } from '../support/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { held, MATRIX, rejection, useBench } from './acquire-support.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const LEASE_MS = 300;
const SLOW_MS = 400;

describe.each(MATRIX)(
  '$client, $subject.kind: an answer that takes longer than the lease',
  ({ client, subject }) => {
    test('is no success for a try, and what it granted is removed', async () => {
      const proxy = await bench.proxy(redis.port);
      const locks = await bench.session(proxy.port, { client, callTimeoutMs: 5_000 });
      const name = bench.name();
      expect(await (await subject.of(locks, 'warm-up').acquire()).release()).toBe(true);
      const slow = proxy.delayReply(subject.acquires, SLOW_MS);
      const trying = rejection(subject.of(locks, name).tryAcquire({ leaseMs: LEASE_MS }));
      await slow;
      // Granted there: a lease, counted from before the request was sent, is over when we hear of it.
      expect(await held(redis.port, subject, name)).not.toBeNull();
      const error = await trying;
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect(error).toMatchObject({ lock: name, servers: [{ kind: 'late' }] });
      await waitFor(async () => (await held(redis.port, subject, name)) === null, {
        what: 'the key to be gone',
      });
    });

    test('is undone at once, not by its lease, when only our share of the lease is over', async () => {
      const proxy = await bench.proxy(redis.port);
      const locks = await bench.session(proxy.port, { client, callTimeoutMs: 5_000 });
      const name = bench.name();
      expect(await (await subject.of(locks, 'warm-up').acquire()).release()).toBe(true);
      // 1 % and 2 ms before the server lets it go: it is still there when the answer comes.
      const slow = proxy.delayReply(subject.acquires, 1_990);
      proxy.clearHistory();
      const trying = rejection(subject.of(locks, name).tryAcquire({ leaseMs: 2_000 }));
      await slow;
      expect(await trying).toBeInstanceOf(LockUnavailableError);
      await waitFor(() => proxy.history.some(subject.releases), { what: 'the release' });
      await waitFor(async () => (await held(redis.port, subject, name)) === null, {
        what: 'the key to be gone',
      });
    });

    test('is followed by another attempt for a caller that waits', async () => {
      const proxy = await bench.proxy(redis.port);
      const locks = await bench.session(proxy.port, { client, callTimeoutMs: 5_000 });
      const name = bench.name();
      expect(await (await subject.of(locks, 'warm-up').acquire()).release()).toBe(true);
      const slow = proxy.delayReply(subject.acquires, SLOW_MS, 2);
      const lease = await subject.of(locks, name).acquire({ leaseMs: LEASE_MS });
      await slow;
      expect(lease.isHeld).toBe(true);
      expect(lease.remainingMs).toBeGreaterThan(0);
      expect(lease.remainingMs).toBeLessThan(LEASE_MS);
      expect(await lease.release()).toBe(true);
    });

    test('never lets a caller in whose every answer is too slow', async () => {
      const proxy = await bench.proxy(redis.port);
      const locks = await bench.session(proxy.port, { client, callTimeoutMs: 5_000 });
      const name = bench.name();
      proxy.delayReply(subject.acquires, SLOW_MS, 1_000);
      let hasRun = false;
      const body = (): void => {
        hasRun = true;
      };
      const error = await rejection(
        subject.of(locks, name).using(body, { leaseMs: LEASE_MS, waitMs: 1_000 }),
      );
      // The last attempt may have been cut short by the end of the wait.
      expect(error instanceof LockUnavailableError || error instanceof LockUnknownError).toBe(true);
      expect(hasRun).toBe(false);
      await waitFor(async () => (await held(redis.port, subject, name)) === null, {
        what: 'the key to be gone',
      });
    });
  },
);
