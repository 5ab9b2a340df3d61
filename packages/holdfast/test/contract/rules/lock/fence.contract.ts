/** Fences grow, always: across owners, sessions, hand-overs and whatever happens to their counter. */
import { describe, expect } from 'vitest';
import { expectGrowing } from '../../../support/locks/fences.ts';
import { fenceCounter, LOCK } from '../../../support/locks/kind.ts';
import type { ContractTest } from '../../harness.ts';

export function fenceContract(test: ContractTest): void {
  describe('the fence of a lock', () => {
    test('fences grow from session to session', async ({ bench }) => {
      const sessions = await Promise.all([bench.session(), bench.session(), bench.session({ handovers: 0 })]);
      const name = bench.name();
      const fences: number[] = [];
      for (let turn = 0; turn < 12; turn += 1) {
        const lease = await sessions[turn % sessions.length]?.lock(name).acquire();
        fences.push(lease?.fence ?? 0);
        await lease?.release();
      }
      expectGrowing(fences);
    });

    test('two hundred contending owners of two sessions get fences in the order of their turns', async ({
      bench,
    }) => {
      const sessions = await Promise.all([bench.session({ handovers: 8 }), bench.session({ handovers: 8 })]);
      const name = bench.name();
      const fences: number[] = [];
      const caller = async (index: number): Promise<void> => {
        for (let turn = 0; turn < 10; turn += 1) {
          // A fixed lease makes a hand-over of another kind: the lease is stated anew.
          const options = index % 5 === 0 ? { renew: false, leaseMs: 20_000 } : {};
          await sessions[index % 2]?.lock(name).using((lease) => fences.push(lease.fence), options);
        }
      };
      await Promise.all(Array.from({ length: 20 }, (_, index) => caller(index)));
      expect(fences).toHaveLength(200);
      expectGrowing(fences);
    });

    test('fences grow after the counter is deleted', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const fences: number[] = [];
      for (let turn = 0; turn < 4; turn += 1) {
        await locks.lock(name).using((lease) => fences.push(lease.fence));
        expect(await bench.redis.del(fenceCounter(bench.key(name)))).toBe(1);
      }
      expectGrowing(fences);
    });

    test('fences grow past those that Redisson counts on the same counter', async ({ bench }) => {
      const locks = await bench.session({ fenceTtlMs: 0 });
      const name = bench.name();
      const key = bench.foreignKey(name);
      const fences: number[] = [];
      for (let turn = 0; turn < 3; turn += 1) {
        await locks.lock(name).using((lease) => fences.push(lease.fence));
        await LOCK.seize(bench.send, key, 30_000);
        fences.push(await bench.redis.incr(fenceCounter(key)));
        await bench.redis.del(key);
      }
      expectGrowing(fences);
    });

    test('fences grow past a counter that is ahead of the clock', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const ahead = 2 ** 52;
      await bench.redis.set(fenceCounter(bench.key(name)), String(ahead));
      const fences = [ahead];
      for (let turn = 0; turn < 3; turn += 1) {
        await locks.lock(name).using((lease) => fences.push(lease.fence));
      }
      expectGrowing(fences);
      expect(fences.at(-1)).toBeLessThan(ahead + 1_000);
    });

    test('fences begin at the time of the server in microseconds', async ({ bench }) => {
      const locks = await bench.session();
      const [seconds] = await bench.redis.time();
      const lease = await locks.lock(bench.name()).acquire();
      expect(Math.floor(lease.fence / 1_000_000) - Number(seconds)).toBeGreaterThanOrEqual(0);
      expect(Math.floor(lease.fence / 1_000_000) - Number(seconds)).toBeLessThan(30);
    });
  });
}
