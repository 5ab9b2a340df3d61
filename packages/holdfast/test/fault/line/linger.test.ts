/** Sessions that keep a lock unused for a while, on a real server: who uses it without a command, and who gets it. */
import { describe, expect, test } from 'vitest';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { CriticalSection } from '../../support/locks/critical-section.ts';
import { untilFree } from '../../support/locks/held.ts';
import { KINDS } from '../../support/locks/kind.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

/** Long enough that a busy machine uses the lock twice within it. */
const LINGER_MS = 10_000;
const LEASE_MS = 60_000;
const ROUNDS = 60;

describe.each(KINDS)('a $name that may be kept', (kind) => {
  test('costs its process no command, and goes to whoever wants it elsewhere', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { leaseMs: LEASE_MS, lingerMs: LINGER_MS });
    const other = await bench.session(redis.port, { leaseMs: LEASE_MS });
    const name = bench.name();
    // The first holds are given back, until the subscription is there.
    await waitFor(
      async () => {
        await kind.of(locks, name).using(() => {});
        proxy.clearHistory();
        await kind.of(locks, name).using(() => {});
        return proxy.history.filter(kind.acquires).length === 0;
      },
      { what: 'a hold that is kept' },
    );
    expect(await kind.of(other, name).using(() => 'served')).toBe('served');
    expect(await kind.of(locks, name).using(() => 'served again')).toBe('served again');
    await locks.close();
    await untilFree(redis.port, kind, name);
  });

  test('has one owner at a time, who has it, while sessions take it from each other', async () => {
    const sessions = await Promise.all(
      [1, 2, 3].map(() => bench.session(redis.port, { leaseMs: LEASE_MS, lingerMs: 200 })),
    );
    const name = bench.name();
    const section = new CriticalSection();
    await Promise.all(
      sessions.map(async (locks, index) => {
        for (let round = 0; round < ROUNDS; round += 1) {
          await kind.of(locks, name).using(async (lease) => {
            expect(lease.isHeld).toBe(true);
            await section.run(() => new Promise((resolve) => setImmediate(resolve)), lease);
          });
          // Out of step, so that asks cross grants.
          if ((round + index) % 3 === 0) await new Promise((resolve) => setTimeout(resolve, index));
        }
      }),
    );
    expect(section.runs).toBe(3 * ROUNDS);
    await Promise.all(sessions.map((locks) => locks.close()));
    await untilFree(redis.port, kind, name);
  });
});
