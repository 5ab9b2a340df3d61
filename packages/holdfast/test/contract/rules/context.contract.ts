/** A caller goes on in its own async context, whoever and whatever served it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect } from 'vitest';
import type { Lease } from '../../../src/index.ts';
import { gate } from '../../support/gate.ts';
import type { Kind } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import type { ContractTest } from '../harness.ts';

export function contextContract(test: ContractTest, kind: Kind): void {
  describe(`the async context of a caller of a ${kind.name}`, () => {
    test('a waiter that is served by the release of another keeps its own', async ({ bench }) => {
      const locks = await bench.session();
      const lock = kind.of(locks, bench.name());
      const user = new AsyncLocalStorage<string>();
      const seen: (string | undefined)[] = [];
      const call = (name: string): Promise<void> =>
        user.run(name, async () => {
          await lock.using(async () => {
            seen.push(user.getStore());
            await bench.redis.ping();
          });
          seen.push(user.getStore());
          const lease = await lock.acquire();
          seen.push(user.getStore());
          await lease.release();
          seen.push(user.getStore());
        });
      await Promise.all([call('ann'), call('bob'), call('cid')]);
      const times = (name: string): number => seen.filter((one) => one === name).length;
      expect(seen).toHaveLength(12);
      expect([times('ann'), times('bob'), times('cid')]).toEqual([4, 4, 4]);
    });

    test('a waiter that is served from inside the body of another is not in its call chain', async ({
      bench,
    }) => {
      const locks = await bench.session();
      const lock = kind.of(locks, bench.name());
      const outside = async (): Promise<Lease | null> => {
        const lease = await lock.acquire();
        // In the chain of whoever released it this would be a re-entry.
        const again = await lock.tryAcquire();
        await lease.release();
        return again;
      };
      const first = await lock.acquire();
      const served = gate();
      const body = lock.using(async (lease) => {
        await lease.release();
        // Its call chain goes on while the waiter has the lock.
        await served.opened;
      });
      const waiting = outside();
      await first.release();
      expect(await waiting).toBeNull();
      served.open();
      await body;
    });

    test('a waiter that is served by time, by a message or by nobody keeps its own', async ({ bench }) => {
      const [locks, other] = await Promise.all([bench.session(), bench.session()]);
      const user = new AsyncLocalStorage<string>();
      const call = (name: string, work: () => Promise<unknown>): Promise<string | undefined> =>
        user.run(name, async () => {
          await work();
          return user.getStore();
        });
      const [byTime, byMessage, byNobody] = [bench.name('time'), bench.name('message'), bench.name('nobody')];
      await kind.seize(bench.send, bench.foreignKey(byTime), 300);
      const held = await kind.of(other, byMessage).acquire();
      await kind.of(other, byNobody).acquire();
      const calls = [
        call('ann', () => kind.of(locks, byTime).acquire()),
        call('bob', () => kind.of(locks, byMessage).acquire()),
        call('cid', () => rejection(kind.of(locks, byNobody).acquire({ waitMs: 300 }))),
      ];
      await bench.untilWaiting(kind, byMessage);
      await user.run('dan', () => held.release());
      expect(await Promise.all(calls)).toEqual(['ann', 'bob', 'cid']);
    });
  });
}
