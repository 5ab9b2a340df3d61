/** A fixed lease ends on its time, however often it is entered and left meanwhile. */
import { describe, expect } from 'vitest';
import { type FencedLease, LockLostError } from '../../../../src/index.ts';
import { rejection } from '../../../support/rejection.ts';
import { type ContractTest, PUNCTUAL } from '../../harness.ts';

const LONG_MS = 30_000;

export function fixedContract(test: ContractTest): void {
  describe('entering a lock with a fixed lease again', () => {
    test('neither entering nor leaving prolongs it in Redis, at any depth', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lock = locks.lock(name);
      // As if most of the lease were over.
      const leftMs = LONG_MS / 2;
      const ttlMs = (): Promise<number> => bench.redis.pttl(bench.key(name));
      const seen: number[] = [];
      const look = async (): Promise<unknown> => seen.push(await ttlMs());
      const body = async (outer: FencedLease): Promise<void> => {
        await bench.redis.pexpire(bench.key(name), leftMs);
        await lock.using(async () => {
          await look();
          await lock.using(look, { leaseMs: 2 * LONG_MS });
          await look();
        });
        await look();
        const inner = await lock.acquire({ within: outer });
        await look();
        expect(await inner.release()).toBe(true);
        await look();
      };
      await lock.using(body, { leaseMs: LONG_MS, renew: false });
      expect(seen).toHaveLength(6);
      for (const left of seen) expect(left).toBeGreaterThan(0);
      for (const left of seen) expect(left).toBeLessThanOrEqual(leftMs);
    });

    test(
      'an owner that enters again and again loses it all the same',
      async ({ bench }) => {
        const locks = await bench.session();
        const lock = locks.lock(bench.name());
        const leaseMs = 500;
        const endMs = performance.now() + 20 * leaseMs;
        const enterUntilLost = async (outer: FencedLease): Promise<never> => {
          let leftMs = outer.remainingMs;
          while (performance.now() < endMs) {
            await lock.using(() => {});
            expect(outer.remainingMs).toBeLessThanOrEqual(leftMs);
            leftMs = outer.remainingMs;
          }
          throw new Error('entered for twenty leases, and had it still');
        };
        const error = await rejection(lock.using(enterUntilLost, { leaseMs, renew: false }));
        // Expired by our own clock; or gone, when a count was on its way for so long that the server knew first.
        expect(error).toBeInstanceOf(LockLostError);
        expect(error).toMatchObject({ outcome: { reason: { code: 'ELOCKLOST' } } });
      },
      PUNCTUAL,
    );
  });
}
