/** Bad input is refused with what was expected and what was got, before anything is sent. */
import { describe, expect } from 'vitest';
import { type AcquireOptions, LockConfigError, Locks, type LocksOptions } from '../../../src/index.ts';
import { type AnyLock, KINDS } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import type { ContractBench } from '../bench.ts';
import type { ContractTest } from '../harness.ts';
import { watchTraffic } from '../traffic-watch.ts';

const EXPECTED_GOT = /^expected .+, got .+/s;
const YEAR_MS = 366 * 24 * 60 * 60 * 1_000;
const HALF_A_PAIR = '\ud83d';

const BAD_NAMES: readonly unknown[] = [
  ...['', undefined, null, 7, 7n, {}, ['a']],
  ...['x'.repeat(1_025), 'é'.repeat(513), `x${HALF_A_PAIR}`, `${HALF_A_PAIR}x`],
];

const BAD_LEASES: readonly unknown[] = [
  ...[0, 1, 2, 3, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null, 5n, 2 ** 53, YEAR_MS + 1],
];

const BAD_ACQUIRE_OPTIONS: readonly unknown[] = [
  ...[null, 5, 'fast', [], () => {}],
  ...BAD_LEASES.map((leaseMs) => ({ leaseMs })),
  ...[{ renew: 1 }, { renew: 'yes' }, { renew: null }],
  ...[{ signal: {} }, { signal: null }, { signal: new AbortController() }],
  ...[{ within: {} }, { within: null }, { within: 'lease' }],
  ...[{ leaseMS: 5 }, { ttl: 5 }, { wait: 5 }],
];

const BAD_WAITS: readonly unknown[] = [
  { waitMs: -1 },
  { waitMs: Number.NaN },
  { waitMs: '5' },
  { waitMs: 5n },
];

const BAD_LOCKS_OPTIONS: readonly unknown[] = [
  ...[null, 5, 'fast', []],
  ...BAD_LEASES.filter((leaseMs) => leaseMs !== null).map((leaseMs) => ({ leaseMs })),
  ...[{ prefix: 5 }, { prefix: {} }],
  ...[{ callTimeoutMs: 0 }, { callTimeoutMs: 1.5 }, { callTimeoutMs: Number.POSITIVE_INFINITY }],
  ...[{ handovers: -1 }, { handovers: 0.5 }, { handovers: 10_001 }, { handovers: '64' }],
  ...[{ handoverMs: -1 }, { handoverMs: Number.NaN }, { fenceTtlMs: -1 }, { fenceTtlMs: 0.5 }],
  ...[{ outageMs: -1 }, { outageMs: '1' }, { shareConnection: false }, { shareConnection: true }],
  ...[{ lease: 5 }, { keyPrefix: 'app:' }],
];

const BAD_CLIENTS: readonly unknown[] = [
  undefined,
  null,
  {},
  [],
  'redis://127.0.0.1',
  () => {},
  Promise.resolve(),
];

async function sendingNothing(bench: ContractBench, work: () => Promise<void>): Promise<void> {
  await watchTraffic(bench, async (watch) => {
    await work();
    expect(await watch.sent()).toEqual([]);
  });
}

function expectRefusal(error: unknown, input: unknown): void {
  expect(error, describeInput(input)).toBeInstanceOf(LockConfigError);
  expect(error).toMatchObject({ code: 'ELOCKCONFIG' });
  expect((error as Error).message).toMatch(EXPECTED_GOT);
}

function describeInput(input: unknown): string {
  return (
    JSON.stringify(input, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)) ??
    'undefined'
  );
}

/** The three ways in, with options that only a caller without types can give. */
function entrances(lock: AnyLock, options: unknown): Promise<unknown>[] {
  const given = options as AcquireOptions;
  return [lock.acquire(given), lock.tryAcquire(given), lock.using(() => {}, given)];
}

async function opened(bench: ContractBench): Promise<Locks> {
  const locks = await bench.session();
  await locks.lock(bench.name('warm')).using(() => {});
  return locks;
}

export function inputContract(test: ContractTest): void {
  describe('bad input', () => {
    test('a bad name is refused wherever a name is taken', async ({ bench }) => {
      const locks = await opened(bench);
      await sendingNothing(bench, async () => {
        for (const bad of BAD_NAMES) {
          const name = bad as string;
          for (const kind of KINDS) expectRefusal(await rejection((async () => kind.of(locks, name))()), bad);
          expectRefusal(await rejection(locks.inspect(name)), bad);
          expectRefusal(await rejection(locks.forceRelease(name)), bad);
        }
      });
    });

    test('a bad option of an acquisition is refused by every way in', async ({ bench }) => {
      const locks = await opened(bench);
      await sendingNothing(bench, async () => {
        for (const kind of KINDS) {
          const lock = kind.of(locks, bench.name());
          for (const bad of BAD_ACQUIRE_OPTIONS) {
            for (const entrance of entrances(lock, bad)) expectRefusal(await rejection(entrance), bad);
          }
          for (const bad of BAD_WAITS as readonly AcquireOptions[]) {
            expectRefusal(await rejection(lock.acquire(bad)), bad);
            expectRefusal(await rejection(lock.using(() => {}, bad)), bad);
          }
          // A try does not wait, so it takes no wait.
          expectRefusal(await rejection(lock.tryAcquire({ waitMs: 5 } as object)), 'waitMs of a try');
          for (const bad of [undefined, null, 5, {}, 'body']) {
            expectRefusal(await rejection(lock.using(bad as () => void)), bad);
          }
        }
      });
    });

    test('a lease of something else cannot be entered', async ({ bench }) => {
      const [locks, other] = await Promise.all([opened(bench), opened(bench)]);
      const [name, second] = [bench.name(), bench.name('second')];
      const leases = [
        await locks.lock(second).acquire(),
        await locks.mutex(name).acquire(),
        await other.lock(bench.name('third')).acquire(),
      ];
      await sendingNothing(bench, async () => {
        for (const within of leases) {
          for (const lock of [locks.lock(name), locks.mutex(second)]) {
            for (const entrance of entrances(lock, { within }))
              expectRefusal(await rejection(entrance), 'within');
          }
        }
      });
      for (const lease of leases) expect(await lease.release()).toBe(true);
    });

    test('a lease of another session cannot be entered', async ({ bench }) => {
      const [locks, other] = await Promise.all([opened(bench), opened(bench)]);
      const name = bench.name();
      const lease = await other.lock(name).acquire();
      await sendingNothing(bench, async () => {
        for (const entrance of entrances(locks.lock(name), { within: lease })) {
          expectRefusal(await rejection(entrance), 'within');
        }
      });
      expect(await lease.release()).toBe(true);
    });

    test('a bad length of an extension is refused, and the lease stays as it is', async ({ bench }) => {
      const locks = await opened(bench);
      for (const kind of KINDS) {
        const lease = await kind.of(locks, bench.name(kind.name)).acquire();
        await sendingNothing(bench, async () => {
          for (const bad of BAD_LEASES) expectRefusal(await rejection(lease.extend(bad as number)), bad);
        });
        expect(lease.remainingMs).toBeGreaterThan(15_000);
      }
    });

    test('a bad option of a session is refused at its construction', async ({ bench }) => {
      const { client } = await bench.caller();
      await sendingNothing(bench, async () => {
        for (const bad of BAD_LOCKS_OPTIONS) {
          expectRefusal(await rejection((async () => new Locks(client, bad as LocksOptions))()), bad);
        }
        for (const bad of BAD_CLIENTS) {
          expectRefusal(await rejection((async () => new Locks(bad as typeof client))()), 'a client');
        }
      });
    });

    test('a bad option of an admin call is refused', async ({ bench }) => {
      const locks = await opened(bench);
      await sendingNothing(bench, async () => {
        for (const prefix of [5, {}, []] as unknown as string[]) {
          expectRefusal(await rejection(locks.list({ prefix }).next()), prefix);
        }
        for (const graceMs of [-1, Number.NaN, Number.POSITIVE_INFINITY, '5'] as number[]) {
          expectRefusal(await rejection(locks.close({ graceMs })), graceMs);
        }
      });
      // A refused close has closed nothing.
      expect(await locks.inspect(bench.name())).toBeNull();
    });

    test('the smallest that is allowed is taken', async ({ bench }) => {
      const callTimeoutMs = bench.callTimeoutMsMin;
      const least = { leaseMs: 4, callTimeoutMs, handovers: 0, handoverMs: 0, outageMs: 0, fenceTtlMs: 0 };
      const brief = bench.sessionOn(await bench.caller(), least);
      const locks = await opened(bench);
      for (const kind of KINDS) {
        // Whether so short a lease is still held when its grant is heard is up to the machine: it is not refused as input.
        const lease = await kind.of(locks, bench.name()).acquire({ waitMs: 0 });
        const taken = [kind.of(brief, bench.name()).tryAcquire({ leaseMs: 4 }), lease.extend(4)];
        for (const [outcome] of await Promise.all(taken.map((promise) => Promise.allSettled([promise])))) {
          expect(outcome).not.toMatchObject({ reason: { code: 'ELOCKCONFIG' } });
        }
      }
      await locks.close({ graceMs: 0 });
    });

    test('the largest that is allowed is taken', async ({ bench }) => {
      const locks = await bench.session({ leaseMs: YEAR_MS, handovers: 10_000, fenceTtlMs: 0 });
      for (const kind of KINDS) {
        const name = bench.name(kind.name).padEnd(1_024 - Buffer.byteLength(bench.key('')), '.');
        const lease = await kind.of(locks, name).acquire();
        expect(lease.remainingMs).toBeGreaterThan(YEAR_MS * 0.98);
        expect(await lease.release()).toBe(true);
        const brief = await kind
          .of(locks, name)
          .acquire({ leaseMs: 5_000, waitMs: Number.POSITIVE_INFINITY });
        expect(await brief.release()).toBe(true);
      }
    });
  });
}
