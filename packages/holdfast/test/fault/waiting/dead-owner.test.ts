/** The lock of an owner that died runs out on time, however busy everybody around it is. */

import { describe, expect, test } from 'vitest';
import { CLIENTS, useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { untilListening } from '../../support/locks/held.ts';

import { KINDS } from '../../support/locks/kind.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const DEAD_MS = 3_000;
/** For a machine that is busy with something else. */
const SLACK_MS = 20_000;

describe.each(KINDS)('a dead owner, $name', (kind) => {
  test('is not kept alive by the renewals, tries and waits of others', async () => {
    const dead = bench.name();
    const all = await Promise.all(
      [...CLIENTS, ...CLIENTS].map((client) => bench.session(redis.port, { client, leaseMs: 9_000 })),
    );
    // Each holds a lock of its own, renewed often, and waits for the dead one with two callers.
    const busy = await Promise.all(all.map((locks, index) => kind.of(locks, `${dead}:${index}`).acquire()));
    const startMs = performance.now();
    await kind.seize(redis.port, dead, DEAD_MS);
    const takenMs = performance.now();
    const served: number[] = [];
    const waiting = all.flatMap((locks, index) =>
      [0, 1].map(() => kind.of(locks, dead).using(() => served.push(index))),
    );
    await untilListening(redis.port, kind, dead);
    // What is left of it only ever shrinks, by the clock, with tries in between.
    const trying = await bench.session(redis.port);
    for (;;) {
      const askedMs = performance.now();
      const tried = await kind.of(trying, dead).tryAcquire();
      const leftMs = Number(await ask(redis.port, ['PTTL', dead]));
      // It cannot have run out before this; from here on anybody may have it.
      if (performance.now() >= startMs + DEAD_MS - 1) {
        await tried?.release();
        break;
      }
      expect(tried).toBeNull();
      expect(leftMs).toBeLessThanOrEqual(takenMs + DEAD_MS - askedMs + 2);
    }
    await waitFor(() => served.length > 0, { what: 'the first waiter to be served' });
    const tookMs = performance.now() - startMs;
    expect(tookMs).toBeGreaterThanOrEqual(DEAD_MS - 1);
    expect(tookMs).toBeLessThan(DEAD_MS + SLACK_MS);
    await Promise.all(waiting);
    expect(served).toHaveLength(2 * all.length);
    for (const lease of busy) {
      expect(lease.signal.reason).toBeUndefined();
      expect(await lease.release()).toBe(true);
    }
  });

  test('without an expiry of its own is waited for, not stolen and not given one', async () => {
    const locks = await bench.session(redis.port);
    const name = bench.name();
    await kind.seize(redis.port, name, DEAD_MS);
    await ask(redis.port, ['PERSIST', name]);
    const waiting = kind.of(locks, name).acquire();
    await untilListening(redis.port, kind, name);
    expect(await kind.of(locks, `${name}:other`).using(() => locks.inspect(name))).not.toBeNull();
    expect(await ask(redis.port, ['PTTL', name])).toBe(-1);
    await ask(redis.port, ['PUBLISH', kind.channel(name), '0']);
    expect(await ask(redis.port, ['PTTL', name])).toBe(-1);
    await ask(redis.port, ['DEL', name]);
    await ask(redis.port, ['PUBLISH', kind.channel(name), '0']);
    expect(await (await waiting).release()).toBe(true);
  });
});
