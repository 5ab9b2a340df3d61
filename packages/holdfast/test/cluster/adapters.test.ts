/** What every cluster client must do: the first rung. */
import { createCluster as createNodeRedis6Cluster } from 'redis';
import { createCluster as createNodeRedis5Cluster } from 'redis-5';
import { describe, expect, test } from 'vitest';
import { LockConfigError, Locks, type RedisClient } from '../../src/index.ts';
import { slotOf } from '../../src/keys/slot.ts';
import { HANDOVERS_DEFAULT } from '../../src/options/options.ts';
import { aborted } from '../support/aborted.ts';
import { listedNames } from '../support/locks/listed.ts';
import { wokenBy } from '../support/locks/woken.ts';
import { ourConnections } from '../support/servers/our-connections.ts';
import { command } from '../support/servers/redis-cluster.ts';
import { steady } from '../support/steady.ts';
import { always } from '../support/violation.ts';
import { waitFor } from '../support/wait-for.ts';
import { useClusterBench } from './bench.ts';
import { CLUSTER_FLAVOURS } from './callers.ts';

const bench = useClusterBench();
const STEADY = steady();

/** For sessions that have yet to reach the cluster: a first call that takes too long is refused at once. */
const AMPLE = { callTimeoutMs: 10_000 };

/** Over all nodes. */
async function ours(): Promise<string[]> {
  return (await Promise.all(bench.cluster.ports.map(ourConnections))).flat();
}

describe.each(CLUSTER_FLAVOURS)('$name', (flavour) => {
  test('sixty names on a fresh cluster are locked, renewed and released, sixty of sixty', async () => {
    const locks = await bench.session(AMPLE, flavour);
    const names = Array.from({ length: 60 }, (_, i) => `${flavour.name}:${i}`);
    const primaries = await Promise.all(names.map((name) => bench.cluster.primaryOf(name)));
    expect(new Set(primaries).size).toBe(3);
    const leases = await Promise.all(names.map((name) => locks.lock(name).acquire()));
    await Promise.all(leases.map((lease) => lease.extend(20_000)));
    expect(await listedNames(locks, { prefix: flavour.name })).toEqual([...names].sort());
    expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(names.map(() => true));
    expect(await listedNames(locks, { prefix: flavour.name })).toEqual([]);
    const mutexes = await Promise.all(names.map((name) => locks.mutex(name).acquire()));
    expect(await Promise.all(mutexes.map((lease) => lease.release()))).toEqual(names.map(() => true));
  });

  test.each(['auto', 'plain', 'sharded', 'both'] as const)(
    'a waiter of another session is woken by a release, with pubsub %s',
    STEADY,
    async (pubsub) => {
      const [locks, other] = await Promise.all([
        bench.session({ pubsub }, flavour),
        bench.session({ pubsub }, flavour),
      ]);
      const name = `wake:${flavour.name}:${pubsub}`;
      const lease = await locks.lock(name).acquire();
      const waiting = other.lock(name).acquire();
      const count = pubsub === 'plain' ? 'NUMSUB' : 'SHARDNUMSUB';
      await bench.untilListening(bench.mailbox(other, name), 1, count);
      // Asked for at once where it listens both ways, and confirmed one after the other.
      await bench.untilListening(
        bench.mailbox(other, name),
        pubsub === 'plain' || pubsub === 'both' ? 1 : 0,
        'NUMSUB',
      );
      expect(await locks.inspect(name)).toMatchObject({ waiters: 1 });
      const next = await wokenBy(name, () => lease.release(), waiting);
      always(() => expect(next.fence).toBeGreaterThan(lease.fence));
    },
  );

  test('an owner is inspected, taken away from by force, and told by its next renewal', async () => {
    const [locks, other] = await Promise.all([bench.session({}, flavour), bench.session({}, flavour)]);
    const name = `force:${flavour.name}`;
    const lease = await locks.lock(name).acquire({ leaseMs: 9_000 });
    const told = aborted(lease.signal);
    expect(await other.inspect(name)).toMatchObject({
      kind: 'lock',
      holdCount: 1,
      // The end of its block.
      fence: lease.fence + HANDOVERS_DEFAULT,
    });
    expect(await other.forceRelease(name, { reason: 'stuck since noon' })).toMatch(locks.session);
    expect(await told).toMatchObject({
      code: 'ELOCKLOST',
      reason: 'revoked',
      message: expect.stringContaining('released by force: "stuck since noon"'),
    });
    expect(await other.check()).toEqual([]);
  });

  test('no connection of ours is left once the session is closed, and the caller has its own', async () => {
    const caller = await bench.caller(flavour);
    const locks = bench.sessionOn(caller, { application: 'billing' });
    const other = await bench.session({}, flavour);
    const lease = await locks.lock('mine').acquire();
    const waiting = other.lock('mine').acquire();
    await bench.untilListening(bench.mailbox(other, 'mine'));
    expect((await ours()).length).toBeGreaterThan(0);
    await lease.release();
    await (await waiting).release();
    await Promise.all([locks.close(), other.close()]);
    await waitFor(async () => (await ours()).length === 0, { what: 'our connections to go' });
    expect(await caller.ping()).toBe('PONG');
    const record = `holdfast_session:${locks.session}`;
    expect(await command(await bench.cluster.primaryOf(record), 'EXISTS', record)).toBe(0);
  });
});

test.each(CLUSTER_FLAVOURS.filter(({ hasKeyPrefix }) => hasKeyPrefix))(
  'a key prefix of $name is part of the key and its slot',
  async (flavour) => {
    const locks = bench.sessionOn(await bench.caller(flavour, { keyPrefix: '{app}:' }), AMPLE);
    const lease = await locks.lock('one').acquire();
    const primary = await bench.cluster.primaryOf('{app}:');
    expect(await command(primary, 'EXISTS', '{app}:one', 'redisson_lock_token:{app}:one')).toBe(2);
    await lease.release();
  },
);

test.each(CLUSTER_FLAVOURS)('the credentials of $name are used for every node', async (flavour) => {
  const login = { username: 'ann', password: 'secret' };
  for (const node of bench.cluster.nodes) {
    await command(node, 'ACL', 'SETUSER', 'ann', 'reset', 'on', '>secret', '~*', '&*', '+@all');
  }
  const locks = bench.sessionOn(await bench.caller(flavour, login), AMPLE);
  const leases = await Promise.all(['a', 'b', 'c', 'd'].map((name) => locks.lock(name).acquire()));
  const connections = await ours();
  expect(connections.length).toBeGreaterThanOrEqual(3);
  expect(connections.filter((line) => !line.includes(' user=ann '))).toEqual([]);
  await Promise.all(leases.map((lease) => lease.release()));
});

describe('a name', () => {
  test.each(['a{b', 'a}b', '{}x', 'a{}b{c}', '}', '{'])('such as %s is refused at once', async (name) => {
    const locks = await bench.session();
    for (const call of [() => locks.lock(name), () => locks.mutex(name)]) {
      expect(call).toThrow(LockConfigError);
      expect(call).toThrow(/expected a lock name for a cluster without braces/);
    }
    await expect(locks.inspect(name)).rejects.toThrow(LockConfigError);
    await expect(locks.forceRelease(name)).rejects.toThrow(LockConfigError);
  });

  test.each(['a', 'a:b', 'x{t}y', '{t}', 'a{x}b{y}', 'a{b}c}', '}a{b}', 'naïve 😀'])(
    'such as %s is locked where Redis has its slot',
    async (name) => {
      const locks = await bench.session();
      const lease = await locks.lock(name).acquire();
      const [any] = bench.cluster.nodes;
      expect(await command(any as never, 'CLUSTER', 'KEYSLOT', name)).toBe(slotOf(name));
      expect(await lease.release()).toBe(true);
    },
  );

  test('that breaks the rule and stands there as data is not listed, and does not stop a list', async () => {
    const locks = await bench.session();
    const primary = await bench.cluster.primaryOf('list:a}b');
    await command(primary, 'HSET', 'list:a}b', 'field', '1');
    await using _lease = await locks.lock('list:good').acquire();
    expect(await listedNames(locks, { prefix: 'list:' })).toEqual(['list:good']);
    await command(primary, 'DEL', 'list:a}b');
  });
});

describe('what cannot work is refused in words', () => {
  test.each<[string, (rootNodes: { url: string }[]) => RedisClient & { connect(): Promise<unknown> }]>([
    ['node-redis 6', (rootNodes) => createNodeRedis6Cluster({ rootNodes })],
    ['node-redis 5', (rootNodes) => createNodeRedis5Cluster({ rootNodes })],
  ])('a cluster of %s that nobody has connected', async (_, create) => {
    const rootNodes = bench.cluster.ports.map((port) => ({ url: `redis://127.0.0.1:${port}` }));
    const client = create(rootNodes);
    const locks = new Locks(client);
    await expect(locks.lock('it').acquire()).rejects.toThrow(/the node-redis cluster is not connected/);
    await locks.close();
  });

  test('several clusters', async () => {
    const { client } = await bench.caller();
    expect(() => new Locks([client])).toThrow(/an ioredis Cluster; expected clients of single servers/);
  });
});
