/** Acquire, run, release: what the body did is what the caller hears, unless the lease was lost under it. */
import { describe, expect } from 'vitest';
import { type Lease, LockLostError, LockTimeoutError } from '../../../src/index.ts';
import { aborted } from '../../support/aborted.ts';
import { fenceOf } from '../../support/locks/fences.ts';
import { type Kind, LOCK } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import { type ContractTest, PUNCTUAL } from '../harness.ts';

const LONG_MS = 30_000;

export function usingContract(test: ContractTest, kind: Kind): void {
  describe(`using a ${kind.name}`, () => {
    test('the result of the body is the result, and the name is free again', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lock = kind.of(locks, name);
      const value = { sold: 1 };
      expect(await lock.using(() => value)).toBe(value);
      expect(await lock.using(async () => undefined)).toBeUndefined();
      const countKeys = (): Promise<number> => bench.redis.exists(bench.key(name));
      expect(await lock.using(async (lease) => [lease.isHeld, await countKeys()])).toEqual([true, 1]);
      expect(await countKeys()).toBe(0);
    });

    test('the error of the body is the error, and the name is free again', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const error = new Error('out of stock');
      const body = (): never => {
        throw error;
      };
      expect(await rejection(kind.of(locks, name).using(body))).toBe(error);
      expect(await rejection(kind.of(locks, name).using(async () => body()))).toBe(error);
      expect(await bench.redis.exists(bench.key(name))).toBe(0);
    });

    test(
      'a body whose wait ran out is not run',
      async ({ bench }) => {
        const [first, second] = await Promise.all([bench.session(), bench.session()]);
        let runs = 0;
        const body = (): void => {
          runs += 1;
        };
        const name = bench.name();
        await kind.of(first, name).acquire();
        const waiting = kind.of(second, name).using(body, { waitMs: 30 });
        expect(await rejection(waiting)).toBeInstanceOf(LockTimeoutError);
        expect(runs).toBe(0);
      },
      PUNCTUAL,
    );

    test('a loss while the body ran is told with what the body returned', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      let fence: number | undefined;
      const body = async (lease: Lease): Promise<string> => {
        fence = fenceOf(lease);
        await bench.redis.del(bench.key(name));
        await aborted(lease.signal);
        return 'done all the same';
      };
      const error = await rejection(kind.of(locks, name).using(body, { leaseMs: 2_400 }));
      expect(error).toBeInstanceOf(LockLostError);
      const outcome = { status: 'fulfilled', value: 'done all the same' };
      expect(error).toMatchObject({ code: 'ELOCKLOST', lock: name, reason: 'gone', outcome });
      expect((error as LockLostError).fence).toBe(fence);
      expect(typeof fence).toBe(kind === LOCK ? 'number' : 'undefined');
    });

    test(
      'a loss while the body ran is told with what the body threw',
      async ({ bench }) => {
        const locks = await bench.session();
        const name = bench.name();
        const thrown = new Error('stopped by the signal');
        const body = async (lease: Lease): Promise<never> => {
          await aborted(lease.signal);
          throw thrown;
        };
        const error = await rejection(kind.of(locks, name).using(body, { leaseMs: 300, renew: false }));
        expect(error).toBeInstanceOf(LockLostError);
        const outcome = { status: 'rejected', reason: thrown };
        expect(error).toMatchObject({ lock: name, reason: 'expired', outcome, cause: thrown });
      },
      PUNCTUAL,
    );

    test('a loss that only the release finds out is told too', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const body = async (): Promise<string> => {
        await bench.redis.del(bench.key(name));
        return 'too quick to notice';
      };
      const error = await rejection(kind.of(locks, name).using(body, { leaseMs: LONG_MS }));
      const outcome = { status: 'fulfilled', value: 'too quick to notice' };
      expect(error).toMatchObject({ code: 'ELOCKLOST', lock: name, reason: 'gone', outcome });
    });

    test('a release inside the body is not a loss', async ({ bench }) => {
      const [locks, other] = await Promise.all([bench.session(), bench.session()]);
      const name = bench.name();
      const result = await kind.of(locks, name).using(async (lease) => {
        expect(await lease.release()).toBe(true);
        // Somebody else may have it by the time the body ends.
        const next = await kind.of(other, name).acquire();
        return next.isHeld;
      });
      expect(result).toBe(true);
    });

    test('an abort during the body does not stop it, and the name is released', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const controller = new AbortController();
      const body = async (lease: Lease): Promise<string> => {
        controller.abort(new Error('too late to matter'));
        expect(await bench.redis.exists(bench.key(name))).toBe(1);
        return lease.isHeld && !lease.signal.aborted ? 'finished' : 'stopped';
      };
      expect(await kind.of(locks, name).using(body, { signal: controller.signal })).toBe('finished');
      expect(await bench.redis.exists(bench.key(name))).toBe(0);
    });
  });
}
