/** The same picture of a cluster, of a quorum, and behind sentinels (`npm run test:monitor`). */
import { Cluster, Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { CALM, useCluster } from '../../holdfast/test/support/servers/redis-cluster.ts';
import { startRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { useSentinels } from '../../holdfast/test/support/servers/sentinel-group.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { isLong } from './support/long.ts';
import { client, closing, session, TestMonitor } from './support/monitor.ts';

describe('a cluster', () => {
  const cluster = useCluster(CALM);

  test('is read by a lane for each primary, and every lock is seen once', async () => {
    const nodes = cluster.nodes.slice(0, 1).map(({ port }) => ({ host: '127.0.0.1', port }));
    const redis = new Cluster(nodes, { lazyConnect: true });
    redis.on('error', () => {});
    closing({ close: () => redis.disconnect() });
    const locks = session(redis, { application: 'shop' });
    const names = Array.from({ length: 12 }, (_, i) => `order:${i}`);
    await Promise.all(names.map((name) => locks.lock(name).acquire({ leaseMs: 600_000 })));
    const seen = new TestMonitor({ redis });
    const rows = await Promise.all(names.map((name) => seen.untilRow(name, ({ app }) => app === 'shop')));
    expect(new Set(rows.map(({ server }) => server)).size).toBe(3);
    const state = await waitFor(async () => {
      const found = await seen.state();
      return found.topology.slotsOk === 16_384 && found.servers.length === 6 ? found : null;
    });
    expect(state.locks).toHaveLength(12);
    await waitFor(async () => {
      const { servers } = await seen.state();
      return (
        servers
          .map(({ role }) => role)
          .sort()
          .join() === 'primary,primary,primary,replica,replica,replica'
      );
    });
    expect(state.topology).toMatchObject({ kind: 'cluster', quorum: null, sentinels: null });
  });
});

describe('a quorum', () => {
  test('names a holder by a majority, and the votes of a minority are shown as such', async () => {
    const servers = await Promise.all([startRedis(), startRedis(), startRedis()]);
    const clients = servers.map(({ port }) => client(port));
    const locks = session(clients, { restartGuardMs: 0 });
    const lease = await locks.lock('order').acquire({ leaseMs: 600_000 });
    const seen = new TestMonitor({ redis: clients });
    const row = await seen.untilRow('order', ({ votes }) => (votes?.has ?? 0) >= 2);
    expect(row.holder.split(':')[0]).toBe(locks.session);
    expect(row.server).toBeNull();
    expect(row.votes?.of).toBe(3);
    await clients[0]?.hset('half', '8743c9c0-0795-4907-87fd-6c719a6b4586:41', '1');
    await clients[0]?.pexpire('half', 600_000);
    expect((await seen.untilRow('half')).votes).toEqual({ has: 1, of: 3 });
    const { totals, topology } = await seen.state();
    expect([totals.held, topology.kind, topology.quorum?.needed]).toEqual([1, 'quorum', 2]);
    await lease.release();
    await waitFor(() => seen.row('order') === undefined);
    const ended = await waitFor(() => {
      const ends = seen.monitor.figures
        .read()
        .endsSince(0)
        .filter(({ name }) => name === 'order');
      return ends.length > 0 ? ends : null;
    });
    expect(ended).toMatchObject([{ end: 'released' }]);
    await servers[2]?.kill();
    const cards = await waitFor(async () => {
      const { servers: found } = await seen.state();
      return found.some(({ health }) => health === 'down') ? found : null;
    });
    // They have not been up for as long as the longest lease that was seen.
    expect(cards.every(({ guardedUntil }) => (guardedUntil ?? 0) > Date.now())).toBe(true);
  });
});

describe.runIf(isLong)('behind sentinels', () => {
  const sentinels = useSentinels();

  test('the primary is found, replicas and sentinels are watched, and a failover is followed', async () => {
    const redis = new Redis({ sentinels: sentinels.addresses, name: sentinels.name, lazyConnect: true });
    redis.on('error', () => {});
    closing({ close: () => redis.disconnect() });
    const locks = session(redis);
    await locks.lock('order').acquire({ leaseMs: 600_000, renew: false });
    const seen = new TestMonitor({ redis });
    const before = await seen.untilRow('order');
    const state = await waitFor(
      async () => {
        const found = await seen.state();
        const roles = found.servers.map(({ role, health }) => `${role} ${health}`).sort();
        const wanted = [
          'primary up',
          'replica up',
          'replica up',
          'sentinel up',
          'sentinel up',
          'sentinel up',
        ];
        return roles.join() === wanted.join() && found.topology.sentinels?.up === 3 ? found : null;
      },
      { limitMs: 60_000 },
    );
    expect(state.topology.sentinels).toMatchObject({ up: 3 });
    expect(state.servers.find(({ role }) => role === 'primary')?.replicas).toBe(2);
    await redis.wait(2, 30_000);
    // The replicas lose their login, and hear of nothing any more: the lock that follows is on the primary only.
    const old = await sentinels.primary();
    for (const { port } of sentinels.servers) {
      if (port === old.port) continue;
      await ask(port, ['CONFIG', 'SET', 'masteruser', 'nobody']);
      await ask(port, ['CONFIG', 'SET', 'masterauth', 'wrong']);
      await ask(port, ['CLIENT', 'KILL', 'TYPE', 'master']);
      await waitFor(async () =>
        /master_link_status:down/.test(String(await ask(port, ['INFO', 'replication']))),
      );
    }
    await locks.lock('late').acquire({ leaseMs: 600_000, renew: false });
    await seen.untilRow('late');
    await old.kill();
    await waitFor(
      () => {
        const row = seen.row('order');
        return row !== undefined && row.server !== before.server && row.holder === before.holder;
      },
      { limitMs: 90_000, what: 'the lock on the new primary' },
    );
    const ends = await waitFor(
      () => {
        const found = seen.monitor.figures.read().endsSince(0);
        return found.length > 0 ? found : null;
      },
      { limitMs: 90_000, what: 'the end of the lock that was not replicated' },
    );
    expect(ends).toMatchObject([{ name: 'late', end: 'vanished', cause: 'failed over' }]);
  });
});
