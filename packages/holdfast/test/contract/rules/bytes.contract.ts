/** What stands in Redis while a name is held, and what is told there when it is released. */
import { describe, expect } from 'vitest';
import { fenceCounter, KINDS, type Kind, LOCK, MUTEX } from '../../support/locks/kind.ts';
import type { ContractBench } from '../bench.ts';
import type { ContractTest } from '../harness.ts';

const LEASE_MS = 5_000;
/** How much of a TTL may have passed by the time we look. */
const SLACK_MS = 4_000;
const HOUR_MS = 60 * 60 * 1_000;
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

async function expectTtl(bench: ContractBench, key: string, ttlMs: number): Promise<void> {
  const leftMs = await bench.redis.pttl(key);
  expect(leftMs).toBeLessThanOrEqual(ttlMs);
  expect(leftMs).toBeGreaterThan(ttlMs - SLACK_MS);
}

export function bytesContract(test: ContractTest): void {
  describe('the bytes of a lock', () => {
    test('a lock is a hash of its holder and a count, with the lease as its time to live', async ({
      bench,
    }) => {
      const locks = await bench.session();
      const name = bench.name();
      await locks.lock(name).acquire({ leaseMs: LEASE_MS });
      const fields = await bench.redis.hgetall(bench.key(name));
      expect(Object.values(fields)).toEqual(['1']);
      expect(Object.keys(fields)[0]).toMatch(new RegExp(`^${UUID}:[1-9]\\d*$`));
      expect(Object.keys(fields)[0]?.split(':')[0]).toBe(locks.session);
      await expectTtl(bench, bench.key(name), LEASE_MS);
    });

    test('the fence of a lock is counted beside it, and the counter lives for an hour after the lease', async ({
      bench,
    }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lease = await locks.lock(name).acquire({ leaseMs: LEASE_MS });
      const counter = `redisson_lock_token:{${bench.key(name)}}`;
      expect(await bench.keys()).toEqual([bench.key(name), counter].sort());
      expect(Number.isSafeInteger(lease.fence)).toBe(true);
      expect(Number(await bench.redis.get(counter))).toBeGreaterThanOrEqual(lease.fence);
      await expectTtl(bench, counter, LEASE_MS + HOUR_MS);
      await lease.release();
      expect(await bench.keys()).toEqual([counter]);
    });

    test('with fenceTtlMs 0 the counter lives for ever', async ({ bench }) => {
      const locks = await bench.session({ fenceTtlMs: 0 });
      const name = bench.name();
      await locks.lock(name).acquire();
      expect(await bench.redis.pttl(fenceCounter(bench.key(name)))).toBe(-1);
    });

    test('each acquisition has a holder of its own', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const holders = new Set<string | null>();
      for (let turn = 0; turn < 3; turn += 1) {
        const lease = await locks.lock(name).acquire();
        holders.add(await LOCK.owner(bench.send, bench.key(name)));
        await lease.release();
      }
      expect(holders.size).toBe(3);
    });
  });

  describe('the bytes of a mutex', () => {
    test('a mutex is a string of 32 hexadecimal digits and our mark, with the lease as its time to live', async ({
      bench,
    }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lease = await locks.mutex(name).acquire({ leaseMs: LEASE_MS });
      expect(await bench.redis.get(bench.key(name))).toMatch(/^[0-9a-f]{32}:holdfast$/);
      await expectTtl(bench, bench.key(name), LEASE_MS);
      expect(await bench.keys()).toEqual([bench.key(name)]);
      await lease.release();
      expect(await bench.keys()).toEqual([]);
    });

    test('each acquisition has a token of its own', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const tokens = new Set<string | null>();
      for (let turn = 0; turn < 3; turn += 1) {
        const lease = await locks.mutex(name).acquire();
        tokens.add(await MUTEX.owner(bench.send, bench.key(name)));
        await lease.release();
      }
      expect(tokens.size).toBe(3);
    });
  });

  for (const kind of KINDS) commonBytes(test, kind);
}

function commonBytes(test: ContractTest, kind: Kind): void {
  describe(`a ${kind.name} as its owner sees it`, () => {
    test('a lease may be claimed for less time than the server keeps it', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const lease = await kind.of(locks, name).acquire({ leaseMs: LEASE_MS });
      const beganMs = performance.now();
      const { remainingMs } = lease;
      const ttlMs = await bench.redis.pttl(bench.key(name));
      expect(lease).toMatchObject({ name, isHeld: true });
      expect(remainingMs).toBeGreaterThan(0);
      // One part in a hundred and two milliseconds are kept back for clocks that differ.
      expect(remainingMs).toBeLessThanOrEqual(LEASE_MS - LEASE_MS * 0.01 - 2);
      expect(remainingMs - (performance.now() - beganMs)).toBeLessThan(ttlMs);
      expect(lease.signal.aborted).toBe(false);
    });

    test('a release deletes the key and tells exactly one 0', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const messages = await bench.messagesOn(kind.channel(bench.key(name)));
      const lease = await kind.of(locks, name).acquire();
      expect(await messages.taken()).toEqual([]);
      expect(await lease.release()).toBe(true);
      expect(await bench.redis.exists(bench.key(name))).toBe(0);
      expect(await messages.taken()).toEqual(['0']);
      expect(lease).toMatchObject({ isHeld: false, remainingMs: 0 });
      expect(lease.signal.aborted).toBe(false);
    });

    test('a name that brings a brace keeps it as it is in derived names', async ({ bench }) => {
      const locks = await bench.session();
      for (const label of bench.unpaired(['a{b', 'a}{'], ['{tag}rest'])) {
        const name = bench.name(label);
        const key = bench.key(name);
        const channel = `${kind.name === 'lock' ? 'redisson_lock__channel' : 'holdfast_mutex__channel'}:${key}`;
        const messages = await bench.messagesOn(channel);
        const lease = await kind.of(locks, name).acquire();
        expect(await kind.owner(bench.send, key)).not.toBeNull();
        await lease.release();
        expect(await messages.taken()).toEqual(['0']);
        const isCounted = (await bench.redis.exists(`redisson_lock_token:${key}`)) === 1;
        expect(isCounted).toBe(kind.name === 'lock');
      }
    });
  });
}
