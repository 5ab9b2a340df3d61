/** Entering a lock again: in the call chain that holds it, or under a lease; never beside it. */
import { describe, expect } from 'vitest';
import {
  type FencedLease,
  LockAbortedError,
  LockLostError,
  LockNotHeldError,
  LockTimeoutError,
} from '../../../../src/index.ts';
import { aborted } from '../../../support/aborted.ts';
import { gate } from '../../../support/gate.ts';
import { CriticalSection } from '../../../support/locks/critical-section.ts';
import { expectGrowing } from '../../../support/locks/fences.ts';
import { LOCK } from '../../../support/locks/kind.ts';
import { handled, rejection } from '../../../support/rejection.ts';
import { always, expectKeptOut } from '../../../support/violation.ts';
import type { ContractBench } from '../../bench.ts';
import type { ContractTest } from '../../harness.ts';

const LONG_MS = 30_000;

async function holdCount(bench: ContractBench, name: string): Promise<number> {
  const [count = '0'] = await bench.redis.hvals(bench.key(name));
  return Number(count);
}

export function reentryContract(test: ContractTest): void {
  describe('entering a lock again in the same call chain', () => {
    test('a nested call enters at once, with the same fence, and is counted', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lock = locks.lock(name);
      const counts: number[] = [];
      const note = async (): Promise<unknown> => counts.push(await holdCount(bench, name));
      await lock.using(async (outer) => {
        await note();
        await lock.using(async (middle) => {
          await note();
          // Another object of the same name is the same lock.
          await locks.lock(name).using(async (inner) => {
            await note();
            expect([middle.fence, inner.fence]).toEqual([outer.fence, outer.fence]);
            expect([outer.isHeld, middle.isHeld, inner.isHeld]).toEqual([true, true, true]);
          });
          await note();
        });
        await note();
        expect(outer.isHeld).toBe(true);
      });
      expect(counts).toEqual([1, 2, 3, 2, 1]);
      expect(await bench.redis.exists(bench.key(name))).toBe(0);
    });

    test('a nested acquire or try enters too, and is released by itself', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lock = locks.lock(name);
      await lock.using(async (outer) => {
        for (const enter of [() => lock.acquire(), () => lock.tryAcquire()]) {
          const inner = await enter();
          expect(inner?.fence).toBe(outer.fence);
          expect(await holdCount(bench, name)).toBe(2);
          expect(await inner?.release()).toBe(true);
          expect(await inner?.release()).toBe(false);
          expect(await holdCount(bench, name)).toBe(1);
        }
        expect(outer.isHeld).toBe(true);
      });
    });

    test('a nested call does not shorten the lease', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lock = locks.lock(name);
      const body = async (lease: FencedLease): Promise<void> => {
        await lock.using(async () => {}, { leaseMs: 1_000 });
        expect(lease.remainingMs).toBeGreaterThan(LONG_MS / 2);
        expect(await bench.redis.pttl(bench.key(name))).toBeGreaterThan(LONG_MS / 2);
      };
      await lock.using(body, { leaseMs: LONG_MS });
    });

    test('parallel branches that enter again exclude each other', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lock = locks.lock(name);
      const section = new CriticalSection();
      const branch = (): Promise<void> =>
        lock.using((lease) => section.run(async () => expect(await holdCount(bench, name)).toBe(2), lease));
      await lock.using(async () => {
        await Promise.all([branch(), branch(), branch(), branch()]);
        expect(await holdCount(bench, name)).toBe(1);
      });
      expect(section.runs).toBe(4);
    });

    test('a try beside a branch that is inside is null', async ({ bench }) => {
      const locks = await bench.session();
      const lock = locks.lock(bench.name());
      await lock.using(async () => {
        const looked = gate();
        let branch: Promise<void> | undefined;
        const inside = await new Promise<FencedLease>((enter) => {
          branch = handled(
            lock.using(async (lease) => {
              enter(lease);
              await looked.opened;
            }),
          );
        });
        expectKeptOut(inside, await lock.tryAcquire());
        expect(await rejection(lock.acquire({ waitMs: 20 }))).toBeInstanceOf(LockTimeoutError);
        const signal = AbortSignal.timeout(20);
        expect(await rejection(lock.acquire({ signal }))).toBeInstanceOf(LockAbortedError);
        looked.open();
        await branch;
        const lease = await lock.tryAcquire();
        expect(await lease?.release()).toBe(true);
      });
    });

    test('work that nobody awaits is on its own once the body has ended', async ({ bench }) => {
      const [locks, other] = await Promise.all([bench.session(), bench.session()]);
      const name = bench.name();
      const ended = gate();
      let stray: Promise<FencedLease> | undefined;
      let fence = 0;
      await locks.lock(name).using((lease) => {
        fence = lease.fence;
        stray = handled(ended.opened.then(() => locks.lock(name).acquire()));
      });
      const next = await other.lock(name).acquire();
      ended.open();
      await bench.untilWaiting(LOCK, name);
      expect(next.isHeld).toBe(true);
      await next.release();
      const lease = await stray;
      expect(lease?.isHeld).toBe(true);
      expectGrowing([fence, next.fence, lease?.fence ?? 0]);
    });

    test('an interval set by a body that lost the lock enters as a newcomer once the body has ended', async ({
      bench,
    }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lock = locks.lock(name);
      const fences: number[] = [];
      const failures: unknown[] = [];
      const enough = gate();
      let isOver = false;
      let interval: NodeJS.Timeout | undefined;
      let lostFence = 0;
      const enter = async (): Promise<void> => {
        const lease = await lock.acquire();
        fences.push(lease.fence);
        await lease.release();
      };
      const work = lock.using(
        async (lease) => {
          lostFence = lease.fence;
          interval = setInterval(() => {
            if (!isOver) return;
            const tried = enter().catch((error: unknown) => failures.push(error));
            void tried.then(() => fences.length + failures.length >= 3 && enough.open());
          }, 5);
          await bench.redis.del(bench.key(name));
          await aborted(lease.signal);
        },
        { leaseMs: 2_400 },
      );
      expect(await rejection(work)).toMatchObject({ code: 'ELOCKLOST' });
      isOver = true;
      await enough.opened;
      clearInterval(interval);
      always(() => expect(Math.min(...fences)).toBeGreaterThan(lostFence));
      expect(failures).toEqual([]);
    });

    test('other sessions and other names are not entered again', async ({ bench }) => {
      const [locks, other] = await Promise.all([bench.session(), bench.session()]);
      const name = bench.name();
      await locks.lock(name).using(async (lease) => {
        expectKeptOut(lease, await other.lock(name).tryAcquire());
        await other.lock(bench.name('second')).using(async () => {
          const third = locks.lock(bench.name('third'));
          await third.using(async ({ fence }) => {
            expect(fence).not.toBe(lease.fence);
            expect(await holdCount(bench, third.name)).toBe(1);
            expect(await holdCount(bench, name)).toBe(1);
          });
        });
      });
    });

    test('a loss reaches every level, and nobody enters below it', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lock = locks.lock(name);
      const outer = lock.using(
        async (lease) => {
          const inner = await rejection(
            lock.using(async (nested) => {
              await bench.redis.del(bench.key(name));
              await Promise.all([aborted(lease.signal), aborted(nested.signal)]);
              expect(await rejection(lock.acquire())).toBeInstanceOf(LockLostError);
              expect(await rejection(lock.tryAcquire())).toBeInstanceOf(LockLostError);
            }),
          );
          expect(inner).toMatchObject({
            code: 'ELOCKLOST',
            reason: 'gone',
            outcome: { status: 'fulfilled' },
          });
          throw inner;
        },
        { leaseMs: 2_400 },
      );
      const error = await rejection(outer);
      expect(error).toMatchObject({ code: 'ELOCKLOST', reason: 'gone', outcome: { status: 'rejected' } });
      expect(await bench.redis.exists(bench.key(name))).toBe(0);
    });
  });

  describe('entering a lock again under a lease', () => {
    test('an acquire within a lease enters it again', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const outer = await locks.lock(name).acquire();
      const inner = await locks.lock(name).acquire({ within: outer });
      expect(inner.fence).toBe(outer.fence);
      expect(await holdCount(bench, name)).toBe(2);
      expectKeptOut(inner, await locks.lock(name).tryAcquire({ within: outer }));
      const innermost = await locks.lock(name).tryAcquire({ within: inner });
      expect(await holdCount(bench, name)).toBe(3);
      for (const [lease, left] of [
        [innermost, 2],
        [inner, 1],
        [outer, 0],
      ] as const) {
        expect(await lease?.release()).toBe(true);
        expect(await holdCount(bench, name)).toBe(left);
      }
    });

    test('an outer release keeps the lock until the inner one', async ({ bench }) => {
      const [locks, other] = await Promise.all([bench.session(), bench.session()]);
      const name = bench.name();
      const outer = await locks.lock(name).acquire();
      const inner = await locks.lock(name).acquire({ within: outer });
      expect(await outer.release()).toBe(true);
      expect([outer.isHeld, inner.isHeld]).toEqual([false, true]);
      expect(await holdCount(bench, name)).toBe(1);
      expectKeptOut(inner, await other.lock(name).tryAcquire());
      expectKeptOut(inner, await locks.lock(name).tryAcquire());
      expect(await inner.release()).toBe(true);
      expect(await bench.redis.exists(bench.key(name))).toBe(0);
    });

    test('a waiter behind the outer lease is served after the inner release', async ({ bench }) => {
      const locks = await bench.session();
      const lock = locks.lock(bench.name());
      const outer = await lock.acquire();
      const inner = await lock.acquire({ within: outer });
      let isServed = false;
      const waiting = handled(
        lock.acquire().then((lease) => {
          isServed = true;
          return lease;
        }),
      );
      await outer.release();
      // A round trip later: whoever was handed the lock by the outer release would have it by now.
      expect(await holdCount(bench, lock.name)).toBe(1);
      expect(inner.isHeld).toBe(true);
      always(() => expect(isServed).toBe(false));
      await inner.release();
      const lease = await waiting;
      expect(lease.isHeld).toBe(true);
      expectGrowing([outer.fence, lease.fence]);
    });

    test('a released lease cannot be entered, and a lost one is lost', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const released = await locks.lock(name).acquire();
      await released.release();
      const error = await rejection(locks.lock(name).acquire({ within: released }));
      expect(error).toBeInstanceOf(LockNotHeldError);
      expect(error).toMatchObject({ code: 'ELOCKNOTHELD', lock: name });
      const lost = await locks.lock(name).acquire({ leaseMs: LONG_MS });
      await bench.redis.del(bench.key(name));
      expect(await rejection(locks.lock(name).acquire({ within: lost }))).toBeInstanceOf(LockLostError);
      expect(await bench.redis.exists(bench.key(name))).toBe(0);
    });
  });
}
