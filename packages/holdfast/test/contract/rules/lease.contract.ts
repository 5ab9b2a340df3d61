/** How long a lease lasts: renewed, fixed, extended, or lost. */
import { describe, expect } from 'vitest';
import { LockLostError, LockNotHeldError } from '../../../src/index.ts';
import { aborted } from '../../support/aborted.ts';
import { fenceOf } from '../../support/locks/fences.ts';
import type { Kind } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import { always, expectKeptOut, Violation } from '../../support/violation.ts';
import { during, waitFor } from '../../support/wait-for.ts';
import type { ContractBench } from '../bench.ts';
import { type ContractTest, PUNCTUAL } from '../harness.ts';

const LONG_MS = 30_000;
/** Renewed every 500 ms, so a loss that only time could tell comes much later than one that a renewal finds. */
const LOSS_LEASE_MS = 1_500;

export function leaseContract(test: ContractTest, kind: Kind): void {
  describe(`the lease of a ${kind.name}`, () => {
    test(
      'renewal keeps a lease beyond its length, and nobody else gets in',
      async ({ bench }) => {
        const [first, second] = await Promise.all([bench.session(), bench.session()]);
        const name = bench.name();
        // Long enough to live through most stalls of the machine.
        const leaseMs = 900;
        const lease = await kind.of(first, name).acquire({ leaseMs });
        await during(1.5 * leaseMs, async () => {
          expectKeptOut(lease, await kind.of(second, name).tryAcquire());
          expect(lease.isHeld).toBe(true);
          expect(lease.remainingMs).toBeLessThan(leaseMs);
        });
        expect(lease.signal.aborted).toBe(false);
        expect(await lease.release()).toBe(true);
      },
      PUNCTUAL,
    );

    test(
      'a fixed lease ends by the clock of its owner, not later',
      async ({ bench }) => {
        const locks = await bench.session();
        const name = bench.name();
        const leaseMs = 300;
        const lease = await kind.of(locks, name).acquire({ leaseMs, renew: false });
        // The lease began before this moment, so it is over by its length from here.
        const overMs = performance.now() + leaseMs;
        const { signal } = lease;
        await waitFor(() => {
          // Read first, so that time that passes between the two does not count against it.
          const nowMs = performance.now();
          const { isHeld } = lease;
          if (isHeld && nowMs >= overMs) throw new Violation('claimed when it was over');
          return !isHeld;
        });
        const reason = await aborted(signal);
        expect(reason).toBeInstanceOf(LockLostError);
        expect(reason).toMatchObject({ code: 'ELOCKLOST', lock: name, reason: 'expired' });
        always(() => expect(lease.remainingMs).toBe(0));
        await bench.untilFree(name);
      },
      PUNCTUAL,
    );

    test('an extension makes a lease longer', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lease = await kind.of(locks, name).acquire({ leaseMs: 2_000, renew: false });
      await lease.extend(10_000);
      await expectLength(bench, name, lease, 10_000);
    });

    test('an extension makes a lease shorter for its owner, and it is released when that is over', async ({
      bench,
    }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lease = await kind.of(locks, name).acquire({ leaseMs: LONG_MS, renew: false });
      await lease.extend(1_000);
      expect(lease.remainingMs).toBeLessThanOrEqual(988);
      // The server keeps what it was told before: a request that comes late must not cut a lease short.
      expect(await bench.redis.pttl(bench.key(name))).toBeGreaterThan(LONG_MS / 2);
      expect(await aborted(lease.signal)).toMatchObject({ reason: 'expired' });
      await bench.untilFree(name, 10_000);
    });

    test(
      'renewals go on with the length of the extension',
      async ({ bench }) => {
        const locks = await bench.session();
        const name = bench.name();
        const lease = await kind.of(locks, name).acquire({ leaseMs: 500 });
        await lease.extend(1_500);
        // Two renewals later.
        await during(1_100, () => expect(lease.isHeld).toBe(true));
        expect(lease.remainingMs).toBeGreaterThan(500);
        expect(lease.remainingMs).toBeLessThanOrEqual(1_483);
        expect(await bench.redis.pttl(bench.key(name))).toBeGreaterThan(500);
      },
      PUNCTUAL,
    );

    test('an extension of a released lease is a mistake, of a lost one a loss', async ({ bench }) => {
      const locks = await bench.session();
      const left = bench.name('released');
      const released = await kind.of(locks, left).acquire();
      await released.release();
      const error = await rejection(released.extend(1_000));
      expect(error).toBeInstanceOf(LockNotHeldError);
      expect(error).toMatchObject({ code: 'ELOCKNOTHELD', lock: left });
      const name = bench.name('deleted');
      const deleted = await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
      await bench.redis.del(bench.key(name));
      const loss = await rejection(deleted.extend(1_000));
      expect(loss).toMatchObject({ code: 'ELOCKLOST', lock: name, reason: 'gone' });
      expect(deleted).toMatchObject({ isHeld: false, signal: { aborted: true } });
      // Each caller gets an error of its own, over the one that the signal tells.
      const { reason } = deleted.signal;
      expect(reason).toMatchObject({ code: 'ELOCKLOST', lock: name, reason: 'gone' });
      for (const told of [loss, await rejection(deleted.extend(1_000))]) {
        expect(told).toMatchObject({ code: 'ELOCKLOST', lock: name, reason: 'gone' });
        expect((told as Error).cause).toBe(reason);
      }
      expect(await bench.redis.exists(bench.key(name))).toBe(0);
    });
  });

  lossContract(test, kind);
}

async function expectLength(
  bench: ContractBench,
  name: string,
  lease: { readonly remainingMs: number },
  leaseMs: number,
): Promise<void> {
  const { remainingMs } = lease;
  const ttlMs = await bench.redis.pttl(bench.key(name));
  expect(remainingMs).toBeLessThanOrEqual(leaseMs * 0.99 - 2);
  expect(remainingMs).toBeGreaterThan(leaseMs - 4_000);
  expect(ttlMs).toBeLessThanOrEqual(leaseMs);
  expect(ttlMs).toBeGreaterThan(leaseMs - 4_000);
}

function lossContract(test: ContractTest, kind: Kind): void {
  const losses: Readonly<Record<string, (bench: ContractBench, key: string) => Promise<unknown>>> = {
    'is deleted': (bench, key) => bench.redis.del(key),
    'is taken by somebody else': async (bench, key) => {
      await bench.redis.del(key);
      await kind.seize(bench.send, key, LONG_MS);
    },
    'becomes something else': (bench, key) => bench.redis.multi().del(key).rpush(key, 'data').exec(),
  };

  describe(`losing a ${kind.name}`, () => {
    for (const [title, lose] of Object.entries(losses)) {
      test(
        `an owner whose key ${title} is told by its next renewal`,
        async ({ bench }) => {
          const locks = await bench.session();
          const name = bench.name();
          const key = bench.foreignKey(name);
          const lease = await kind.of(locks, name).acquire({ leaseMs: LOSS_LEASE_MS });
          await lose(bench, key);
          const bytes = await bench.content(key);
          const lostMs = performance.now();
          const reason = await aborted(lease.signal);
          const toldMs = performance.now() - lostMs;
          always(() => expect(lease).toMatchObject({ isHeld: false, remainingMs: 0 }));
          expect(await lease.release()).toBe(false);
          expect(await bench.content(key)).toEqual(bytes);
          expect(reason).toBeInstanceOf(LockLostError);
          expect(reason).toMatchObject({ code: 'ELOCKLOST', lock: name, reason: 'gone' });
          expect((reason as LockLostError).fence).toBe(fenceOf(lease));
          expect(toldMs).toBeLessThan((LOSS_LEASE_MS * 2) / 3);
        },
        PUNCTUAL,
      );
    }

    test('callers that wait behind a lost lease go on', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lease = await kind.of(locks, name).acquire({ leaseMs: LOSS_LEASE_MS });
      const waiting = kind.of(locks, name).acquire({ leaseMs: LONG_MS });
      await bench.redis.del(bench.key(name));
      expect((await waiting).isHeld).toBe(true);
      always(() => expect(lease.isHeld).toBe(false));
      expect(await lease.release()).toBe(false);
      expect((await waiting).isHeld).toBe(true);
      expect(await bench.redis.exists(bench.key(name))).toBe(1);
    });

    test(
      'a listener of a loss runs in nobody else’s call chain',
      async ({ bench }) => {
        const locks = await bench.session();
        const name = bench.name('held');
        const lost = await kind.of(locks, bench.name('lost')).acquire({ leaseMs: 2_000, renew: false });
        const entered = new Promise<unknown>((resolve) => {
          // In the chain of the owner below this would be a re-entry: a second owner beside it.
          lost.signal.addEventListener('abort', () => resolve(kind.of(locks, name).tryAcquire()));
        });
        await kind.of(locks, name).using(async (lease) => {
          // Makes the session set its timers from inside this call chain.
          await using _busy = await kind.of(locks, bench.name('busy')).acquire({ leaseMs: 300 });
          expectKeptOut(lease, await entered);
        });
      },
      PUNCTUAL,
    );
  });
}
