/**
 * Rules on real servers in the state that each is about: it fires, reaches a real web server and a real mail server, and goes
 * quiet when the state ends. Here are those that take seconds; `npm run test:alerts` runs all of them, waits for the
 * windows of five minutes, and gives every rule receivers that refuse, hang, answer 429 and come back (support/trouble.ts).
 * `clocks-apart`, `config-refused`, `cpu-high` and `latency-high` are in strain.test.ts.
 */
import { mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster, Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { startChild, useChildren } from '../../../holdfast/test/support/processes/child.ts';
import { useCluster } from '../../../holdfast/test/support/servers/redis-cluster.ts';
import { startRedis, useRedis } from '../../../holdfast/test/support/servers/redis-server.ts';
import { useSentinels } from '../../../holdfast/test/support/servers/sentinel-group.ts';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';
import { JUDGED_RULES } from '../../src/alerts/rules/table.ts';
import { isLong, LONG_TEST } from '../support/long.ts';
import { client, closing, session } from '../support/monitor.ts';
import { HttpReceiver, useHttpReceivers } from './support/http-receiver.ts';
import { useMailReceivers } from './support/mail-receiver.ts';
import { RuleWatch } from './support/rule-watch.ts';

const state = useRedis();
useChildren();
useHttpReceivers();
useMailReceivers();

const HOLDER = join(import.meta.dirname, '../children/holder.ts');
/** Five minutes of a window, and time to notice. */
const WINDOW_LIMIT_MS = 600_000;

/** Where rules fire and end on real servers. */
const FILES = ['rules.test.ts', 'strain.test.ts'];
/** What short tests wait for in the long form takes minutes, for the receivers that do not take a message at once. */
const MAY_BE_LONG = isLong ? LONG_TEST : {};

function held(port: number, name: string, leaseMs: number) {
  return startChild<{ session: string }>(HOLDER, [String(port), name, String(leaseMs)]);
}

test.each([
  ['fires', /\bwatch\.fires\(([^)]*)\)/g],
  ['ends', /\bwatch\.ends(?:Within)?\(([^)]*)\)/g],
])('every rule that is judged %s on a real server', (_what, pattern) => {
  const found = FILES.flatMap((file) =>
    [...readFileSync(join(import.meta.dirname, file), 'utf8').matchAll(pattern)].flatMap(([, rules = '']) =>
      [...rules.matchAll(/'([\w-]+)'/g)].map(([, rule = '']) => rule),
    ),
  );
  expect([...new Set(found)].sort()).toEqual(JUDGED_RULES.map(({ id }) => id).sort());
});

test('locks that are held long, waited for long, by many, or never expire', MAY_BE_LONG, async () => {
  const server = await startRedis();
  const redis = client(server.port);
  const watch = await RuleWatch.start(client(server.port), state.url, {
    'lock-held-long': { warning: 1_000 },
    'wait-long': { warning: 500, critical: 1_500 },
    'line-long': { warning: 1 },
    'lock-without-expiry': {},
  });
  const owner = session(client(server.port));
  const waiters = [session(client(server.port)), session(client(server.port))];
  const lease = await owner.lock('order:1').acquire();
  const waiting = waiters.map((locks) => locks.lock('order:1').acquire({ waitMs: 300_000 }));
  const eternal = await owner.lock('order:2').acquire({ leaseMs: 600_000, renew: false });
  await redis.persist('order:2');
  await watch.fires('lock-held-long', 'wait-long', 'line-long', 'lock-without-expiry');
  await waitFor(() => watch.levels('wait-long').includes('critical'), { limitMs: 60_000 });
  await redis.pexpire('order:2', 60_000);
  await eternal.release();
  await lease.release();
  await Promise.all(waiting.map(async (each) => (await each).release()));
  await watch.ends('lock-held-long', 'wait-long', 'line-long', 'lock-without-expiry');
});

test('a server that is full, may evict, cannot save, and dies', MAY_BE_LONG, async () => {
  const server = await startRedis();
  const redis = client(server.port, { retryStrategy: () => 200 });
  const watch = await RuleWatch.start(client(server.port), state.url, {
    'memory-high': { warning: 0.5, critical: 0.6 },
    'eviction-policy': {},
    'persistence-failing': {},
    // Not while the monitor connects: that alert would be over before its first message is.
    'redis-unreachable': { forMs: 5_000 },
  });
  const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  await redis.config('SET', 'maxmemory', String(Math.round(used * 1.3)));
  await redis.config('SET', 'maxmemory-policy', 'volatile-lru');
  // A folder stands where the file is to go.
  mkdirSync(join(server.dir, 'dump.rdb'));
  await redis.bgsave();
  await watch.fires('memory-high', 'eviction-policy', 'persistence-failing');
  await redis.config('SET', 'maxmemory', '0');
  rmdirSync(join(server.dir, 'dump.rdb'));
  await waitFor(() => redis.bgsave().then(() => true), { what: 'a save that begins' });
  await watch.ends('memory-high', 'eviction-policy', 'persistence-failing');
  await server.kill();
  await watch.fires('redis-unreachable');
  await server.restart();
  await watch.ends('redis-unreachable');
});

test('a receiver that takes nothing is an alert for the others', MAY_BE_LONG, async () => {
  const server = await startRedis();
  const broken = await HttpReceiver.start();
  // In the long form the others take their messages late, and must not be an alert themselves.
  broken.usual = 'fail';
  const rules = {
    'delivery-failing': { warning: isLong ? 40_000 : 1_000 },
    'lock-held-long': { warning: 1 },
  };
  const watch = await RuleWatch.start(client(server.port), state.url, rules, [broken]);
  const locks = session(client(server.port));
  const lease = await locks.lock('order:1').acquire();
  await watch.fires('delivery-failing');
  expect(watch.notices('delivery-failing')[0]?.alerts.map(({ subject }) => subject)).toEqual(['other-1']);
  broken.usual = 'take';
  await watch.ends('delivery-failing');
  await lease.release();
});

describe.runIf(isLong)('the long form', () => {
  test('an owner that freezes: first the renewal is late, then the lease is gone', {
    timeout: 600_000,
  }, async () => {
    const server = await startRedis();
    const rules = { 'renewals-late': {}, 'leases-expired': {} };
    const watch = await RuleWatch.start(client(server.port), state.url, rules);
    // It is late for a third of the lease, and the receivers must have heard so before the lease is gone.
    const child = held(server.port, 'order:1', 90_000);
    await child.next();
    await waitFor(() => watch.monitor.row('order:1')?.renewing, { limitMs: 90_000 });
    child.stop();
    await watch.fires('renewals-late', 'leases-expired');
    await watch.ends('renewals-late');
    await child.kill();
  });

  test('windows of five minutes: evictions, refusals, vanished and expired locks', {
    timeout: 900_000,
  }, async () => {
    const server = await startRedis();
    const redis = client(server.port);
    const watch = await RuleWatch.start(client(server.port), state.url, {
      'leases-expired': {},
      'locks-vanished': {},
      evicting: {},
      'connections-refused': {},
      'connections-high': {},
    });
    const locks = session(client(server.port));
    await locks.lock('order:1').acquire();
    const frozen = held(server.port, 'order:2', 3_000);
    await frozen.next();
    await watch.monitor.untilRow('order:1');
    await watch.monitor.untilRow('order:2', ({ renewing }) => renewing);
    await frozen.kill();
    await watch.fires('leases-expired');
    await redis.flushall();
    await watch.fires('locks-vanished');
    // Evictions: a little more than there is room for.
    const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await redis.config('SET', 'maxmemory', String(used + 200_000));
    for (let at = 0; at < 100; at += 1) await redis.set(`filler:${at}`, 'x'.repeat(10_000));
    await redis.config('SET', 'maxmemory', '0');
    await redis.config('SET', 'maxclients', '40');
    const crowd = Array.from({ length: 60 }, () => client(server.port, { retryStrategy: () => null }));
    await Promise.allSettled(crowd.map((one) => one.connect()));
    await watch.fires('evicting', 'connections-refused', 'connections-high');
    for (const one of crowd) one.disconnect();
    await redis.config('SET', 'maxclients', '10000');
    await watch.ends('connections-high');
    await watch.endsWithin(WINDOW_LIMIT_MS, 'leases-expired', 'locks-vanished');
    await watch.endsWithin(WINDOW_LIMIT_MS, 'evicting', 'connections-refused');
  });

  test('a script that blocks: the server is busy, and the monitor blind', {
    timeout: 600_000,
  }, async () => {
    const server = await startRedis({ args: ['--busy-reply-threshold', '200'] });
    const redis = client(server.port);
    const watch = await RuleWatch.start(client(server.port), state.url, {
      'monitor-blind': { warning: 3_000 },
      'redis-busy': {},
    });
    // Where there is no lock there is nothing to look at.
    const locks = session(client(server.port));
    await locks.lock('order:1').acquire({ leaseMs: 3_600_000, renew: false });
    await watch.monitor.untilRow('order:1');
    // Connected before: a busy server answers nothing else.
    await redis.ping();
    const blocking = client(server.port)
      .eval('while true do end', 0)
      .catch(() => {});
    await watch.fires('redis-busy', 'monitor-blind');
    await waitFor(() => redis.script('KILL').then(() => true));
    await blocking;
    await watch.ends('redis-busy', 'monitor-blind');
  });

  test('a replica that freezes and dies; a server that restarts; an owner that dies', {
    timeout: 600_000,
  }, async () => {
    const primary = await startRedis();
    const replica = await startRedis();
    await client(replica.port).call('REPLICAOF', '127.0.0.1', String(primary.port));
    const watch = await RuleWatch.start(client(primary.port), state.url, {
      'replica-behind': { warning: 3_000 },
      'replica-down': {},
      'owner-gone': {},
      restarted: {},
    });
    await waitFor(
      () => [...watch.monitor.monitor.figures.read().servers.values()].some((card) => card.replicas === 1),
      { limitMs: 60_000 },
    );
    replica.freeze();
    await watch.fires('replica-behind');
    replica.resume();
    await watch.ends('replica-behind');
    await replica.kill();
    await watch.fires('replica-down');
    await watch.staysAfterRestart('replica-down');
    await replica.restart();
    await client(replica.port).call('REPLICAOF', '127.0.0.1', String(primary.port));
    await watch.ends('replica-down');
    // Longer than a message through all its trouble and a restart of the monitor take on a busy machine.
    const child = held(primary.port, 'order:1', 300_000);
    const { session } = await child.next();
    await watch.monitor.untilRow('order:1', ({ app }) => app !== null);
    await child.kill();
    await client(primary.port).del(`holdfast_session:${session}`);
    await watch.fires('owner-gone');
    await watch.staysAfterRestart('owner-gone');
    await client(primary.port).del('order:1');
    await watch.ends('owner-gone');
    await primary.restart();
    await watch.fires('restarted');
    await watch.ends('restarted');
  });

  test('a quorum that loses its spare, then its majority', { timeout: 600_000 }, async () => {
    const servers = await Promise.all([startRedis(), startRedis(), startRedis()]);
    const watch = await RuleWatch.start(
      servers.map(({ port }) => client(port)),
      state.url,
      { 'quorum-spare': {} },
    );
    await waitFor(() => watch.monitor.monitor.figures.read().topology.quorum?.voters === 3, {
      limitMs: 60_000,
    });
    await servers[2]?.kill();
    await watch.fires('quorum-spare');
    await servers[1]?.kill();
    await waitFor(() => watch.levels('quorum-spare').includes('critical'), { limitMs: 60_000 });
    await Promise.all(servers.slice(1).map((server) => server.restart()));
    await watch.ends('quorum-spare');
  });

  describe('a cluster', () => {
    const cluster = useCluster();

    test('that lost a primary and its replica', { timeout: 600_000 }, async () => {
      const redis = new Cluster(
        cluster.ports.map((port) => ({ host: '127.0.0.1', port })),
        { lazyConnect: true },
      );
      redis.on('error', () => {});
      closing({ close: () => redis.disconnect() });
      const watch = await RuleWatch.start(redis, state.url, { 'slots-unserved': {} });
      await waitFor(() => watch.monitor.monitor.figures.read().topology.slotsOk === 16_384, {
        limitMs: 60_000,
      });
      const [first, , , replica] = cluster.nodes;
      await Promise.all([first?.kill(), replica?.kill()]);
      await watch.fires('slots-unserved');
      await Promise.all([first?.restart(), replica?.restart()]);
      await watch.ends('slots-unserved');
    });
  });

  describe('sentinels', () => {
    const sentinels = useSentinels();

    test('that are too few', { timeout: 600_000 }, async () => {
      const redis = new Redis({ sentinels: sentinels.addresses, name: sentinels.name, lazyConnect: true });
      redis.on('error', () => {});
      closing({ close: () => redis.disconnect() });
      const watch = await RuleWatch.start(redis, state.url, { 'sentinels-few': {} });
      await waitFor(() => watch.monitor.monitor.figures.read().topology.sentinels?.up === 3, {
        limitMs: 60_000,
      });
      const gone = sentinels.sentinels.slice(1);
      for (const one of gone) await one.kill();
      await watch.fires('sentinels-few');
      for (const one of gone) await one.restart();
      await watch.ends('sentinels-few');
    });
  });
});
