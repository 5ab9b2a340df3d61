/** Any name that UTF-8 can carry is a lock of its own. */
import { describe, expect } from 'vitest';
import type { Kind } from '../../support/locks/kind.ts';
import { expectKeptOut } from '../../support/violation.ts';
import type { ContractTest } from '../harness.ts';

const LABELS = [
  'order',
  'Order',
  'with spaces and\nlines',
  'NUL\u0000inside',
  'NUL\u0000inside\u0000',
  '🔒',
  '🔓',
  // The same letter to the eye, composed and decomposed: two names.
  'é',
  'e\u0301',
  '*?[a-z]\\',
  '"quoted"',
  'x'.repeat(1_000),
  `${'x'.repeat(999)}y`,
];

export function nameContract(test: ContractTest, kind: Kind): void {
  describe(`the name of a ${kind.name}`, () => {
    test('unusual names are locks of their own', async ({ bench }) => {
      const [first, second] = await Promise.all([bench.session(), bench.session()]);
      // They differ in their labels alone.
      const name = bench.name();
      const names = LABELS.map((label) => `${name}:${label}`);
      const leases = await Promise.all(names.map((each) => kind.of(first, each).tryAcquire()));
      const owners = await Promise.all(names.map((each) => kind.owner(bench.send, bench.key(each))));
      expect(new Set(owners).size).toBe(LABELS.length);
      for (const [index, each] of names.entries()) {
        expect(leases[index]?.isHeld).toBe(true);
        expect(leases[index]?.name).toBe(each);
        expect(owners[index]).not.toBeNull();
        expectKeptOut(leases[index] ?? { isHeld: false }, await kind.of(second, each).tryAcquire());
      }
      for (const lease of leases) expect(await lease?.release()).toBe(true);
      for (const each of names) expect(await bench.redis.exists(bench.key(each))).toBe(0);
    });

    test('waiters of unusual names are woken', async ({ bench }) => {
      const [first, second] = await Promise.all([bench.session(), bench.session()]);
      const names = ['NUL\u0000inside', '🔒', 'x'.repeat(1_000)]
        .concat(bench.unpaired(['a{b']))
        .map((label) => bench.name(label));
      await Promise.all(
        names.map(async (name) => {
          const lease = await kind.of(first, name).acquire();
          const waiting = kind.of(second, name).acquire({ waitMs: 10_000 });
          await bench.untilWaiting(kind, name);
          await lease.release();
          expect((await waiting).isHeld).toBe(true);
        }),
      );
    });

    test('a lock object may be used again and again, and so may another of its name', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lock = kind.of(locks, name);
      for (let turn = 0; turn < 3; turn += 1) {
        const lease = await lock.acquire();
        expectKeptOut(lease, await kind.of(locks, name).tryAcquire());
        expect(await lease.release()).toBe(true);
      }
    });
  });
}
