/** Who holds it is decided by each acquisition, not by the object it came from. */
import { describe, expect, test } from 'vitest';
import { LockLostError, LockNotHeldError } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held, untilFree } from '../../support/locks/held.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';

import { MATRIX } from '../matrix.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

describe.each(MATRIX)('$client, $kind.name: two leases of one object', ({ client, kind }) => {
  test('the first, run out, cannot touch the second', async () => {
    const locks = await bench.session(redis.port, { client, leaseMs: 30_000 });
    const name = bench.name();
    const lock = kind.of(locks, name);
    const first = await lock.acquire({ leaseMs: 200, renew: false });
    const second = await lock.acquire();
    const state = await held(redis.port, kind, name);
    expect(first.isHeld).toBe(false);
    expect(first.signal.reason).toMatchObject({ reason: 'expired' });
    expect(await first.release()).toBe(false);
    expect(await rejection(first.extend(60_000))).toBeInstanceOf(LockLostError);
    await first[Symbol.asyncDispose]();
    const after = await held(redis.port, kind, name);
    expect(after).toMatchObject({ owner: state?.owner, count: 1 });
    expect(after?.ttlMs).toBeLessThanOrEqual(30_000);
    expect(second.isHeld).toBe(true);
    expect(await second.release()).toBe(true);
  });

  test('the first, deleted under it, cannot touch the second', async () => {
    const locks = await bench.session(redis.port, { client, leaseMs: 30_000 });
    const other = await bench.session(redis.port, { client, leaseMs: 30_000 });
    const name = bench.name();
    const first = await kind.of(locks, name).acquire();
    await ask(redis.port, ['DEL', name]);
    const second = await kind.of(other, name).acquire();
    const state = await held(redis.port, kind, name);
    expect(await first.release()).toBe(false);
    expect(await held(redis.port, kind, name)).toMatchObject({ owner: state?.owner, count: 1 });
    expect(await second.release()).toBe(true);
  });

  test('the first, released, cannot touch the second', async () => {
    const locks = await bench.session(redis.port, { client, leaseMs: 30_000 });
    const name = bench.name();
    const lock = kind.of(locks, name);
    const first = await lock.acquire();
    const firstOwner = (await held(redis.port, kind, name))?.owner;
    expect(await first.release()).toBe(true);
    const second = await lock.acquire();
    const secondOwner = (await held(redis.port, kind, name))?.owner;
    expect(secondOwner).not.toBe(firstOwner);
    expect(await first.release()).toBe(false);
    expect(await rejection(first.extend(1_000))).toBeInstanceOf(LockNotHeldError);
    await first[Symbol.asyncDispose]();
    expect(first.signal.aborted).toBe(false);
    expect((await held(redis.port, kind, name))?.owner).toBe(secondOwner);
    expect(second.isHeld).toBe(true);
    expect(await second.release()).toBe(true);
  });

  test('a second caller of the same object waits like any other', async () => {
    const locks = await bench.session(redis.port, { client, leaseMs: 30_000 });
    const lock = kind.of(locks, bench.name());
    const first = await lock.acquire();
    let isServed = false;
    const second = lock.acquire().then((lease) => {
      isServed = true;
      return lease;
    });
    expect(await lock.tryAcquire()).toBeNull();
    expect(isServed).toBe(false);
    expect(await first.release()).toBe(true);
    expect(await (await second).release()).toBe(true);
  });

  test('owners never repeat, over sessions and acquisitions', async () => {
    const all = await Promise.all(
      [1, 2, 3].map(() => bench.session(redis.port, { client, handovers: 0, leaseMs: 30_000 })),
    );
    const name = bench.name();
    const owners: string[] = [];
    for (let round = 0; round < 10; round += 1) {
      for (const locks of all) {
        const lease = await kind.of(locks, name).acquire();
        owners.push((await held(redis.port, kind, name))?.owner ?? '');
        expect(await lease.release()).toBe(true);
      }
    }
    expect(new Set(owners).size).toBe(30);
    // A token that could be guessed would let anybody release it.
    if (kind.name === 'mutex') for (const owner of owners) expect(owner.length).toBeGreaterThanOrEqual(16);
    await untilFree(redis.port, kind, name);
  });
});
