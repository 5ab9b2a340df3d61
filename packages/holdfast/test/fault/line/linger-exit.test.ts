/** Processes that end while they keep a lock that nobody in them uses: what they leave behind on a real server. */
import { describe, expect, test, vi } from 'vitest';
import { CLIENTS, type ClientKind, useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held } from '../../support/locks/held.ts';
import { LOCK } from '../../support/locks/kind.ts';
import { type Child, startChild, useChildren } from '../../support/processes/child.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import type { LingeringPlan, LingeringWord } from './lingering-child.ts';

const redis = useRedis();
useLeakCheck(redis, { checksHandles: false });
useChildren();
const bench = useBench();

/** Far longer than a process takes to end. */
const LINGER_MS = 10_000;
const LEASE_MS = 60_000;
const SHORT_LEASE_MS = 1_500;
const START_LIMIT_MS = 120_000;
vi.setConfig({ testTimeout: 400_000 });

async function lingering(
  name: string,
  client: ClientKind,
  leaseMs = LEASE_MS,
): Promise<Child<LingeringWord>> {
  const plan: LingeringPlan = { port: redis.port, client, name, leaseMs, lingerMs: LINGER_MS };
  const child = startChild<LingeringWord>('test/fault/line/lingering-child.ts', [JSON.stringify(plan)]);
  await child.next(({ event }) => event === 'kept', START_LIMIT_MS);
  return child;
}

describe.each(CLIENTS)('a process that keeps a lock unused, by %s', (client) => {
  test.each<{ how: string; end: (child: Child<LingeringWord>) => unknown }>([
    { how: 'has nothing more to do', end: (child) => child.send('end') },
    { how: 'closes its locks on SIGTERM', end: (child) => child.kill('SIGTERM') },
  ])('and $how leaves nothing behind', async ({ end }) => {
    const name = bench.name();
    const child = await lingering(name, client);
    end(child);
    expect(await child.exited, child.stderr).toEqual({ code: 0, signal: null });
    expect(await held(redis.port, LOCK, name)).toBe(null);
  });
});

test.each<{ how: string; end: (child: Child<LingeringWord>) => unknown }>([
  { how: 'is killed', end: (child) => child.kill() },
  { how: 'calls process.exit', end: (child) => child.send('exit') },
])('a process that $how while it keeps a lock unused leaves it to its lease', async ({ end }) => {
  const name = bench.name();
  const child = await lingering(name, 'ioredis', SHORT_LEASE_MS);
  end(child);
  await child.exited;
  expect((await held(redis.port, LOCK, name))?.ttlMs ?? 0).toBeLessThanOrEqual(SHORT_LEASE_MS);
  const locks = await bench.session(redis.port);
  const lease = await locks.lock(name).acquire();
  expect(await lease.release()).toBe(true);
});
