/** A grant of a cluster that counts only once a replica of its own shard has it. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { LockUnavailableError } from '../../src/index.ts';
import { KINDS } from '../support/locks/kind.ts';
import { rejection } from '../support/rejection.ts';
import { command } from '../support/servers/redis-cluster.ts';
import { waitFor } from '../support/wait-for.ts';
import { useClusterBench } from './bench.ts';
import { CLUSTER_FLAVOURS } from './callers.ts';

const bench = useClusterBench();
/** A replica that is well may stand still for a while, with the whole machine. */
const REPLICAS = { min: 1, timeoutMs: 4_000 };
/** Enough to see that it has nothing, and for nothing else. */
const HASTY = { min: 1, timeoutMs: 300 };
const CALL_TIMEOUT_MS = 10_000;
/** Longer than a node is given, an election and the gossip after it, on a busy machine; shorter than the lease. */
const FAILOVER_LIMIT_MS = 40_000;
/** A failover and the time until everybody has heard of it. */
const LONG = { timeout: 180_000 };
/** Three names, one of each shard. */
const NAMES = ['a', 'b', 'c'];

/** Version 5 of node-redis prints whatever happens to its own connections. */
beforeEach(() => {
  const silenced = vi.spyOn(console, 'error').mockImplementation(() => {});
  return () => silenced.mockRestore();
});

async function isFree(name: string): Promise<boolean> {
  return (await command(await bench.cluster.primaryOf(name), 'EXISTS', name)) === 0;
}

describe.each(CLUSTER_FLAVOURS)('$name', (flavour) => {
  test('names of every shard are granted, kept and released', async () => {
    const locks = await bench.session({ replicas: REPLICAS, callTimeoutMs: CALL_TIMEOUT_MS }, flavour);
    for (const kind of KINDS) {
      // In the slots of those three.
      const names = NAMES.map((name) => `{${name}}:${kind.name}`);
      const primaries = await Promise.all(names.map((name) => bench.cluster.primaryOf(name)));
      expect(new Set(primaries).size).toBe(3);
      const leases = await Promise.all(names.map((name) => kind.of(locks, name).acquire()));
      await Promise.all(leases.map((lease) => lease.extend(20_000)));
      expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual([true, true, true]);
    }
  });
});

const NEWEST = CLUSTER_FLAVOURS.filter(({ name }) => name.endsWith(' 6'));

describe.each(NEWEST)('$name', (flavour) => {
  test('a shard whose replica does not answer grants nothing and keeps nothing, and the others go on', async () => {
    const [locks, hasty] = await Promise.all([
      bench.session({ replicas: REPLICAS, callTimeoutMs: CALL_TIMEOUT_MS }, flavour),
      bench.session({ replicas: HASTY }, flavour),
    ]);
    const primary = await bench.cluster.primaryOf('a');
    const replica = await bench.cluster.replicaOf(primary);
    const other = NAMES.find((name) => name !== 'a') ?? '';
    expect(await bench.cluster.primaryOf(other)).not.toBe(primary);
    await (await locks.lock('a').acquire()).release();
    // Connected, too: what is refused below is refused for the replica alone.
    await waitFor(async () => (await hasty.lock('a').acquire()).release());
    replica.freeze();
    const refused = await rejection(hasty.lock('a').tryAcquire());
    expect(refused).toBeInstanceOf(LockUnavailableError);
    expect(String(refused)).toContain('wanted 1 replica to have it, 0 had it');
    await waitFor(() => isFree('a'), { what: 'the grant to be given back' });
    await (await locks.lock(other).acquire()).release();
  });

  test(
    'a lock that was granted is still held after its primary was killed and the replica has taken over',
    LONG,
    async () => {
      const [locks, rival] = await Promise.all([
        bench.session({ replicas: REPLICAS, callTimeoutMs: CALL_TIMEOUT_MS, leaseMs: 60_000 }, flavour),
        bench.session({}, flavour),
      ]);
      const name = `acknowledged:${flavour.name}`;
      const lease = await locks.lock(name).acquire();
      const primary = await bench.cluster.primaryOf(name);
      await primary.kill();
      const taken = await waitFor(
        async () => {
          const now = await bench.cluster.primaryOf(name);
          return now === primary ? null : now;
        },
        { limitMs: FAILOVER_LIMIT_MS, what: 'another primary' },
      );
      expect(await command(taken, 'EXISTS', name)).toBe(1);
      const attempt = async (): Promise<{ lease: unknown } | null> => {
        try {
          return { lease: await rival.lock(name).tryAcquire() };
        } catch {
          return null;
        }
      };
      const answer = await waitFor(attempt, {
        limitMs: FAILOVER_LIMIT_MS,
        what: 'an answer of the new primary',
      });
      expect(answer.lease).toBeNull();
      expect(lease.isHeld).toBe(true);
    },
  );
});
