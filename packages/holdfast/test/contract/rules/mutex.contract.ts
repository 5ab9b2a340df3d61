/** What a mutex does not do: it is never entered twice, and it says so instead of waiting for itself. */
import { describe, expect } from 'vitest';
import { type Lease, LockConfigError } from '../../../src/index.ts';
import { gate } from '../../support/gate.ts';
import { rejection } from '../../support/rejection.ts';
import { expectKeptOut } from '../../support/violation.ts';
import type { ContractTest } from '../harness.ts';

export function mutexContract(test: ContractTest): void {
  describe('a mutex in the call chain that holds it', () => {
    test('every way of entering it again is refused at once', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const mutex = locks.mutex(name);
      let runs = 0;
      const body = (): void => {
        runs += 1;
      };
      await mutex.using(async (lease) => {
        for (const enter of [
          () => mutex.acquire(),
          () => mutex.acquire({ waitMs: 0 }),
          () => mutex.tryAcquire(),
          () => mutex.using(body),
          () => locks.mutex(name).acquire(),
          () => mutex.acquire({ within: lease }),
        ]) {
          const error = await rejection(enter());
          expect(error).toBeInstanceOf(LockConfigError);
          expect(error).toMatchObject({ code: 'ELOCKCONFIG', lock: name });
          expect((error as Error).message).toContain(name);
        }
        expect(lease.isHeld).toBe(true);
        expect(await bench.redis.exists(bench.key(name))).toBe(1);
      });
      expect(runs).toBe(0);
      expect(await bench.redis.exists(bench.key(name))).toBe(0);
    });

    test('other mutexes, locks of other names and other sessions are none of its business', async ({
      bench,
    }) => {
      const [locks, other] = await Promise.all([bench.session(), bench.session()]);
      const name = bench.name();
      await locks.mutex(name).using(async (lease) => {
        expectKeptOut(lease, await other.mutex(name).tryAcquire());
        await locks.mutex(bench.name('second')).using(() => locks.lock(bench.name('third')).using(() => {}));
      });
    });

    test('work that nobody awaits may take it once the body has ended', async ({ bench }) => {
      const locks = await bench.session();
      const mutex = locks.mutex(bench.name());
      const ended = gate();
      let stray: Promise<Lease> | undefined;
      await mutex.using(() => {
        stray = ended.opened.then(() => mutex.acquire());
      });
      ended.open();
      expect((await stray)?.isHeld).toBe(true);
    });

    test('a lease of a mutex has no fence', async ({ bench }) => {
      const locks = await bench.session();
      const lease = await locks.mutex(bench.name()).acquire();
      expect('fence' in lease ? lease.fence : undefined).toBeUndefined();
    });
  });
}
