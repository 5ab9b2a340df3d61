/** Giving back, once and late: only what is ours, quickly, without a throw. */
import { describe, expect } from 'vitest';
import { type Kind, LOCK } from '../../support/locks/kind.ts';
import { always } from '../../support/violation.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type ContractTest, PUNCTUAL } from '../harness.ts';

const LONG_MS = 30_000;

export function releaseContract(test: ContractTest, kind: Kind): void {
  describe(`releasing a ${kind.name}`, () => {
    test('a second release is false and leaves the next owner alone', async ({ bench }) => {
      const [first, second] = await Promise.all([bench.session(), bench.session()]);
      const name = bench.name();
      const lease = await kind.of(first, name).acquire();
      expect(await lease.release()).toBe(true);
      expect(await lease.release()).toBe(false);
      const next = await kind.of(second, name).acquire();
      const owner = await kind.owner(bench.send, bench.key(name));
      expect(await lease.release()).toBe(false);
      await lease[Symbol.asyncDispose]();
      expect(await kind.owner(bench.send, bench.key(name))).toBe(owner);
      expect(next.isHeld).toBe(true);
    });

    test('two releases at once are one', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const messages = await bench.messagesOn(kind.channel(bench.key(name)));
      const lease = await kind.of(locks, name).acquire();
      expect(await Promise.all([lease.release(), lease.release()])).toEqual([true, false]);
      expect(await messages.taken()).toEqual(['0']);
    });

    test(
      'a release after the lease ran out is false and leaves the next owner alone',
      async ({ bench }) => {
        const [first, second] = await Promise.all([bench.session(), bench.session()]);
        const name = bench.name();
        const lease = await kind.of(first, name).acquire({ leaseMs: 300, renew: false });
        const next = await kind.of(second, name).acquire({ leaseMs: LONG_MS });
        always(() => expect(lease).toMatchObject({ isHeld: false, remainingMs: 0 }));
        const owner = await kind.owner(bench.send, bench.key(name));
        const isReleased = await lease.release();
        always(() => expect(isReleased).toBe(false));
        expect(await kind.owner(bench.send, bench.key(name))).toBe(owner);
        expect(next.isHeld).toBe(true);
        expect(await next.release()).toBe(true);
      },
      PUNCTUAL,
    );

    test(
      'a release after the lease ran out does not wait for the server',
      async ({ bench }) => {
        const { locks, proxy } = await bench.sessionBehindProxy();
        const lease = await kind.of(locks, bench.name()).acquire({ leaseMs: 500, renew: false });
        await waitFor(() => !lease.isHeld);
        proxy.freeze();
        const beganMs = performance.now();
        expect(await lease.release()).toBe(false);
        await lease[Symbol.asyncDispose]();
        // Less than a call may take.
        expect(performance.now() - beganMs).toBeLessThan(1_500);
        proxy.thaw();
      },
      PUNCTUAL,
    );

    test('a release after somebody deleted the key is false', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lease = await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
      await bench.redis.del(bench.key(name));
      expect(await lease.release()).toBe(false);
      expect(lease.isHeld).toBe(false);
    });

    test('a release after somebody else took the key is false and leaves it alone', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const key = bench.foreignKey(name);
      const messages = await bench.messagesOn(kind.channel(key));
      const lease = await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
      await bench.redis.del(key);
      const owner = await kind.seize(bench.send, key, LONG_MS);
      expect(await lease.release()).toBe(false);
      expect(await kind.owner(bench.send, key)).toBe(owner);
      expect(await messages.taken()).toEqual([]);
    });

    test('a release after the key became something else is false and leaves it alone', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const key = bench.foreignKey(name);
      const lease = await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
      await bench.redis.multi().del(key).rpush(key, 'data').exec();
      expect(await lease.release()).toBe(false);
      expect(await bench.redis.lrange(key, 0, -1)).toEqual(['data']);
    });

    test('a lease of `await using` is released at the end of its block', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      {
        await using lease = await kind.of(locks, name).acquire();
        expect(lease.isHeld).toBe(true);
        expect(await bench.redis.exists(bench.key(name))).toBe(1);
      }
      expect(await bench.redis.exists(bench.key(name))).toBe(0);
    });

    test(
      'disposal never throws: not after a release, a loss or a close',
      async ({ bench }) => {
        const [open, closed] = await Promise.all([bench.session(), bench.session()]);
        const released = await kind.of(open, bench.name('released')).acquire();
        await released.release();
        const lost = await kind.of(open, bench.name('lost')).acquire({ leaseMs: 300, renew: false });
        const orphan = await kind.of(closed, bench.name('closed')).acquire();
        await closed.close();
        await waitFor(() => !lost.isHeld);
        for (const lease of [released, lost, orphan]) {
          await expect(lease[Symbol.asyncDispose]()).resolves.toBeUndefined();
          expect(await lease.release()).toBe(false);
        }
      },
      PUNCTUAL,
    );

    test('the log form of a lease tells no secret', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lease = await kind.of(locks, name).acquire();
      const text = JSON.stringify(lease);
      expect(JSON.parse(text)).toMatchObject({ name, isHeld: true });
      const owner = String(await kind.owner(bench.send, bench.key(name)));
      expect(text.includes(owner)).toBe(false);
      expect(text.includes('"fence"')).toBe(kind === LOCK);
    });
  });
}
