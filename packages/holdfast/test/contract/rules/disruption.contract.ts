/** What happens to the whole server, or to this whole process. Each rule has both to itself. */
import { describe, expect } from 'vitest';
import { LockLostError } from '../../../src/index.ts';
import { aborted } from '../../support/aborted.ts';
import { expectGrowing } from '../../support/locks/fences.ts';
import { KINDS } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import { always } from '../../support/violation.ts';
import { type ContractTest, PUNCTUAL } from '../harness.ts';

/** Keeps the event loop from turning: no timer fires, no answer is read. */
function block(untilMs: number): void {
  while (performance.now() < untilMs);
}

export function disruptionContract(test: ContractTest): void {
  describe('a process that is blocked', () => {
    for (const kind of KINDS) {
      const title = `an owner of a ${kind.name} that was blocked past its lease cannot claim it in the next statement`;
      test(
        title,
        async ({ bench }) => {
          const locks = await bench.session();
          for (const renew of [true, false]) {
            const leaseMs = 150;
            const lease = await kind.of(locks, bench.name(`${renew}`)).acquire({ leaseMs, renew });
            // The lease began before this moment, so it is over by its length from here.
            block(performance.now() + leaseMs);
            always(() => expect([lease.isHeld, lease.remainingMs]).toEqual([false, 0]));
            const extension = await rejection(lease.extend(1_000));
            const isReleased = await lease.release();
            // The block is a stall itself, and only a grant that took too long is excused by one.
            always(() => expect(extension).toBeInstanceOf(LockLostError));
            always(() => expect(isReleased).toBe(false));
          }
        },
        PUNCTUAL,
      );
    }
  });

  describe('a server that is emptied, or set to evict', () => {
    test('FLUSHALL is told to every owner by its next renewal', async ({ bench }) => {
      const locks = await bench.session();
      const leases = await Promise.all(
        KINDS.map((kind) => kind.of(locks, bench.name(kind.name)).acquire({ leaseMs: 1_500 })),
      );
      const told = leases.map(({ signal }) => aborted(signal));
      await bench.redis.flushall();
      for (const reason of await Promise.all(told)) {
        expect(reason).toBeInstanceOf(LockLostError);
        expect(reason).toMatchObject({ reason: 'gone' });
      }
      for (const lease of leases) expect(await lease.release()).toBe(false);
      expect(await bench.redis.dbsize()).toBe(0);
    });

    test('fences grow after FLUSHALL', async ({ bench }) => {
      const locks = await bench.session();
      const lock = locks.lock(bench.name());
      const fences: number[] = [];
      for (let turn = 0; turn < 4; turn += 1) {
        await lock.using((lease) => fences.push(lease.fence));
        await bench.redis.flushall();
      }
      expectGrowing(fences);
    });

    test('SCRIPT FLUSH is not noticed', async ({ bench }) => {
      const locks = await bench.session();
      for (const kind of KINDS) {
        const name = bench.name(kind.name);
        const lease = await kind.of(locks, name).acquire({ leaseMs: 5_000 });
        await bench.redis.script('FLUSH');
        await lease.extend(10_000);
        await bench.redis.script('FLUSH');
        expect(await lease.release()).toBe(true);
        await bench.redis.script('FLUSH');
        expect(await kind.of(locks, name).using(() => 'in')).toBe('in');
      }
    });

    test('a check finds nothing on a server as it comes, and an eviction policy that could take a lock', async ({
      bench,
    }) => {
      const locks = await bench.session();
      expect(await locks.check()).toEqual([]);
      await bench.redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
      // Without a limit of memory nothing is ever evicted.
      expect(await locks.check()).toEqual([]);
      await bench.redis.config('SET', 'maxmemory', '256mb');
      try {
        for (const policy of ['allkeys-lru', 'volatile-ttl', 'volatile-random']) {
          await bench.redis.config('SET', 'maxmemory-policy', policy);
          const findings = await locks.check();
          expect(findings.map(({ code }) => code)).toEqual(bench.servers.map(() => 'EVICTION'));
          expect(findings[0]?.message).toContain(policy);
        }
        await bench.redis.config('SET', 'maxmemory-policy', 'noeviction');
        expect(await locks.check()).toEqual([]);
      } finally {
        await bench.redis.config('SET', 'maxmemory', '0');
        await bench.redis.config('SET', 'maxmemory-policy', 'noeviction');
      }
    });
  });
}
