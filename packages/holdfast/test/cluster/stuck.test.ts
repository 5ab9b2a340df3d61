/**
 * Requests that are stuck on the way to a node while the cluster changes around it. The nodes are reached through
 * proxies by the client's own `natMap`, which is tested on the way.
 */
import { Cluster } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Locks, type LocksOptions } from '../../src/index.ts';
import { slotOf } from '../../src/keys/slot.ts';
import { outlivesSilence } from '../fault/silent-connection.ts';
import { LOCK } from '../support/locks/kind.ts';
import { type FaultProxy, startProxy } from '../support/proxies/fault-proxy.ts';
import { commandCounts } from '../support/servers/commands.ts';
import { command } from '../support/servers/redis-cluster.ts';
import type { RedisServer } from '../support/servers/redis-server.ts';
import { SlotMigration } from '../support/servers/slot-migration.ts';
import { elapse, waitFor } from '../support/wait-for.ts';
import { useClusterBench } from './bench.ts';

const bench = useClusterBench();

const proxies = new Map<number, FaultProxy>();
const open: { locks: Locks; cluster: Cluster }[] = [];

beforeEach(async () => {
  for (const port of bench.cluster.ports) proxies.set(port, await startProxy(port));
});

afterEach(async () => {
  for (const { locks, cluster } of open.splice(0)) {
    await locks.close();
    cluster.disconnect();
  }
  await Promise.all([...proxies.values()].map((proxy) => proxy.stop()));
  proxies.clear();
});

function proxyOf({ port }: RedisServer): FaultProxy {
  return proxies.get(port) as FaultProxy;
}

function locksBehindProxies(options: LocksOptions = {}): Locks {
  const natMap = Object.fromEntries(
    [...proxies].map(([port, proxy]) => [`127.0.0.1:${port}`, { host: '127.0.0.1', port: proxy.port }]),
  );
  const [first] = [...proxies.values()] as [FaultProxy];
  const cluster = new Cluster([{ host: '127.0.0.1', port: first.port }], { natMap, lazyConnect: true });
  cluster.on('error', () => {});
  const locks = new Locks(cluster, { callTimeoutMs: 5_000, ...options });
  open.push({ locks, cluster });
  return locks;
}

/** A name whose primary is not the node that is asked for the map first. */
async function nameAwayFromFirst(label: string): Promise<string> {
  for (let i = 0; ; i += 1) {
    const name = `${label}:${i}`;
    if ((await bench.cluster.primaryOf(name)) !== bench.cluster.nodes[0]) return name;
  }
}

test('the nodes are reached by the addresses that the map of the client gives them', async () => {
  const locks = locksBehindProxies();
  const names = Array.from({ length: 30 }, (_, i) => `mapped:${i}`);
  for (const name of names) await locks.lock(name).using(() => {});
  const primaries = await bench.cluster.primaries();
  for (const primary of primaries) expect(proxyOf(primary).history.some(LOCK.acquires)).toBe(true);
});

test.each([1_000, 3_000])(
  'a lease of %i ms outlives a connection to its node that goes silent',
  async (leaseMs) => {
    const name = await nameAwayFromFirst(`silent:${leaseMs}`);
    const locks = locksBehindProxies({ leaseMs });
    await locks.lock(name).using(() => {});
    const proxy = proxyOf(await bench.cluster.primaryOf(name));
    const acquire = () => locks.lock(name).acquire();
    await outlivesSilence({ acquire, proxies: [proxy], renews: LOCK.renews });
  },
);

test('an acquire that is stuck before a node which loses the slot meanwhile grants nothing anywhere', async () => {
  const name = await nameAwayFromFirst('overtaken');
  const locks = locksBehindProxies({ callTimeoutMs: 1_000 });
  await locks.lock(name).using(() => {});
  const migration = await SlotMigration.of(bench.cluster, slotOf(name));
  const proxy = proxyOf(migration.from);
  proxy.freeze();
  await expect(locks.lock(name).tryAcquire({ leaseMs: 60_000 })).rejects.toMatchObject({
    code: 'ELOCKUNKNOWN',
  });
  await migration.run();
  proxy.thaw();
  // The release that follows it goes the same way, is sent on to the new node, and finds nothing there.
  await waitFor(() => proxy.history.filter(LOCK.acquires).length >= 2, {
    what: 'the stuck acquire to arrive',
  });
  const lease = await locks.lock(name).acquire({ waitMs: 10_000 });
  expect(await command(migration.to, 'HLEN', name)).toBe(1);
  expect(await lease.release()).toBe(true);
  expect(await command(migration.to, 'EXISTS', name)).toBe(0);
});

test('an acquire that arrives long after it was given up is refused by the clock of that very node', async () => {
  const name = await nameAwayFromFirst('late');
  const locks = locksBehindProxies({ callTimeoutMs: 1_000 });
  // The clock of this node is learnt here, and no other node's.
  await locks.lock(name).using(() => {});
  const primary = await bench.cluster.primaryOf(name);
  const proxy = proxyOf(primary);
  proxy.freeze();
  await expect(locks.lock(name).tryAcquire({ leaseMs: 60_000 })).rejects.toMatchObject({
    code: 'ELOCKUNKNOWN',
  });
  const counts = await commandCounts(primary);
  await elapse(200);
  proxy.thaw();
  // Its release comes right behind it, so what tells is whether anything was written before that.
  await waitFor(async () => ((await counts.delta())['evalsha'] ?? 0) >= 2, { what: 'both to arrive' });
  expect((await counts.delta())['hset']).toBeUndefined();
  expect(await command(primary, 'EXISTS', name)).toBe(0);
});

test('a grant whose answer is lost is asked for again and is one grant', async () => {
  const name = await nameAwayFromFirst('lost answer');
  const locks = locksBehindProxies();
  await locks.lock(name).using(() => {});
  const primary = await bench.cluster.primaryOf(name);
  const dropped = proxyOf(primary).cutAfterRequest(LOCK.acquires);
  const lease = await locks.lock(name).acquire();
  await dropped;
  expect(await command(primary, 'HVALS', name)).toEqual(['1']);
  expect(await lease.release()).toBe(true);
  expect(await command(primary, 'EXISTS', name)).toBe(0);
});
