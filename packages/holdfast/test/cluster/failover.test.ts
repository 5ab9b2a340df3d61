/** Primaries that are replaced, die, freeze or are gone with their whole shard. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type FencedLease, LockUnavailableError } from '../../src/index.ts';
import { listedNames } from '../support/locks/listed.ts';
import { allServed, SERVED_AGAIN_MS } from '../support/locks/served.ts';
import { untilRenewed } from '../support/locks/warm-up.ts';
import { wokenBy } from '../support/locks/woken.ts';
import { rejection } from '../support/rejection.ts';
import { command } from '../support/servers/redis-cluster.ts';
import type { RedisServer } from '../support/servers/redis-server.ts';
import { steady } from '../support/steady.ts';
import { always } from '../support/violation.ts';
import { waitFor } from '../support/wait-for.ts';
import { useClusterBench } from './bench.ts';
import { type ClusterFlavour, SOME_CLUSTER_FLAVOURS } from './callers.ts';

const bench = useClusterBench();
const STEADY = steady();

/** Version 5 of node-redis prints whatever happens to its own connections. */
beforeEach(() => {
  const silenced = vi.spyOn(console, 'error').mockImplementation(() => {});
  return () => silenced.mockRestore();
});

/** Longer than a node is given, an election and the gossip after it, on a busy machine. */
const FAILOVER_LIMIT_MS = 40_000;
/** A failover and the time until everybody has heard of it. */
const LONG = { timeout: 180_000 };

async function untilOwnedByAnother(name: string, before: RedisServer): Promise<RedisServer> {
  return waitFor(
    async () => {
      const now = await bench.cluster.primaryOf(name);
      return now === before ? null : now;
    },
    { limitMs: FAILOVER_LIMIT_MS, what: 'another primary' },
  );
}

/** What was acknowledged has reached the replica. */
async function untilReplicated(name: string): Promise<void> {
  const primary = await bench.cluster.primaryOf(name);
  const replica = await bench.cluster.replicaOf(primary);
  const offset = async (node: RedisServer, field: string): Promise<string | undefined> =>
    new RegExp(`${field}:(\\d+)`).exec(String(await command(node, 'INFO', 'replication')))?.[1];
  await waitFor(async () => {
    const [sent, got] = await Promise.all([
      offset(primary, 'master_repl_offset'),
      offset(replica, 'slave_repl_offset'),
    ]);
    return Number(got) >= Number(sent);
  });
}

/** Two more processes behind whoever waits already. */
async function twoMore(name: string, flavour: ClusterFlavour): Promise<Promise<FencedLease>[]> {
  const waits: Promise<FencedLease>[] = [];
  for (let i = 0; i < 2; i += 1) {
    const locks = await bench.session({}, flavour);
    waits.push(locks.lock(name).acquire());
    await bench.untilListening(bench.mailbox(locks, name));
  }
  return waits;
}

describe.each(SOME_CLUSTER_FLAVOURS)('$name', { ...STEADY, ...LONG }, (flavour) => {
  test('a planned failover costs the owner nothing, and those who wait are served at the new primary', async () => {
    const [locks, other] = await Promise.all([bench.session({}, flavour), bench.session({}, flavour)]);
    const name = `planned:${flavour.name}`;
    const lease = await locks.lock(name).acquire({ leaseMs: 9_000 });
    const waiting = other.lock(name).acquire();
    await bench.untilListening(bench.mailbox(other, name));
    const behind = await twoMore(name, flavour);
    const before = await bench.cluster.primaryOf(name);
    await bench.cluster.failOver(before);
    const after = await untilOwnedByAnother(name, before);
    await untilRenewed(lease, FAILOVER_LIMIT_MS);
    expect(lease.isHeld).toBe(true);
    await bench.untilListeningAt(after, bench.mailbox(other, name), FAILOVER_LIMIT_MS);
    expect(await command(after, 'EXISTS', name)).toBe(1);
    const next = await wokenBy(name, async () => expect(await lease.release()).toBe(true), waiting);
    always(() => expect(next.fence).toBeGreaterThan(lease.fence));
    expect(await next.release()).toBe(true);
    expect(await allServed(behind)).toBeLessThan(SERVED_AGAIN_MS);
  });

  test('a primary that is killed is sat out: the owner keeps the lock, and those who wait are served', async () => {
    const [locks, other] = await Promise.all([bench.session({}, flavour), bench.session({}, flavour)]);
    const name = `killed:${flavour.name}`;
    const lease = await locks.lock(name).acquire({ leaseMs: 20_000 });
    const waiting = other.lock(name).acquire();
    await bench.untilListening(bench.mailbox(other, name));
    const behind = await twoMore(name, flavour);
    await untilReplicated(name);
    const before = await bench.cluster.primaryOf(name);
    await before.kill();
    const after = await untilOwnedByAnother(name, before);
    await bench.untilListeningAt(after, bench.mailbox(other, name), FAILOVER_LIMIT_MS);
    await untilRenewed(lease, FAILOVER_LIMIT_MS);
    expect(lease.isHeld).toBe(true);
    const next = await wokenBy(name, async () => expect(await lease.release()).toBe(true), waiting);
    expect(await next.release()).toBe(true);
    expect(await allServed(behind)).toBeLessThan(SERVED_AGAIN_MS);
  });
});

test(
  'an acquisition without an answer from a primary that freezes is granted once, at the new primary, and nothing stays',
  LONG,
  async () => {
    const locks = await bench.session({ callTimeoutMs: 1_000, outageMs: FAILOVER_LIMIT_MS });
    const name = 'unanswered';
    await locks.lock(name).using(() => {});
    const before = await bench.cluster.primaryOf(name);
    before.freeze();
    const acquiring = locks.lock(name).acquire({ leaseMs: 30_000 });
    const after = await untilOwnedByAnother(name, before);
    const lease = await acquiring;
    expect(await command(after, 'HLEN', name)).toBe(1);
    // The old primary goes on, runs what it was sent, hears that it is none any more, and forgets it.
    before.resume();
    await bench.cluster.untilWhole();
    expect(await lease.release()).toBe(true);
    const held = async (): Promise<unknown> => command(await bench.cluster.primaryOf(name), 'EXISTS', name);
    await waitFor(async () => (await held()) === 0, { what: 'the lock to be free' });
    await locks.lock(name).using(() => {});
  },
);

test('a caller that gives up on a frozen primary leaves no lock behind at the new one', LONG, async () => {
  const [locks, other] = await Promise.all([bench.session({ callTimeoutMs: 1_000 }), bench.session()]);
  const name = 'given up';
  await locks.lock(name).using(() => {});
  const before = await bench.cluster.primaryOf(name);
  before.freeze();
  await expect(locks.lock(name).tryAcquire({ leaseMs: 60_000 })).rejects.toMatchObject({
    code: 'ELOCKUNKNOWN',
  });
  await untilOwnedByAnother(name, before);
  before.resume();
  await bench.cluster.untilWhole();
  const primary = await bench.cluster.primaryOf(name);
  await waitFor(async () => (await command(primary, 'EXISTS', name)) === 0, { what: 'the lock to be free' });
  const lease = await other.lock(name).acquire({ waitMs: 10_000 });
  expect(await lease.release()).toBe(true);
});

test(
  'a grant that died with its primary lets a second owner in, whose fence is larger, and the first is told',
  LONG,
  async () => {
    const [locks, other] = await Promise.all([bench.session(), bench.session()]);
    const name = 'not replicated';
    await locks.lock(name).using(() => {});
    await untilReplicated(name);
    const before = await bench.cluster.primaryOf(name);
    const replica = await bench.cluster.replicaOf(before);
    // The replica stands still and has no connection while the grant is made, so that it never hears of it.
    replica.freeze();
    await command(before, 'CLIENT', 'KILL', 'TYPE', 'replica');
    // Long enough that a renewal finds out, at the new primary, and not its own clock.
    const lease = await locks.lock(name).acquire({ leaseMs: 20_000 });
    await before.kill();
    replica.resume();
    await untilOwnedByAnother(name, before);
    const second = await other.lock(name).acquire({ waitMs: FAILOVER_LIMIT_MS });
    always(() => expect(second.fence).toBeGreaterThan(lease.fence));
    await waitFor(() => lease.signal.aborted, { limitMs: 20_000, what: 'the first owner to be told' });
    expect(lease.signal.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'gone' });
    expect(await lease.release()).toBe(false);
    expect(await second.release()).toBe(true);
  },
);

test('a shard that is down is an outage of its names alone', STEADY, async () => {
  const locks = await bench.session({ outageMs: 2_000, callTimeoutMs: 1_000 });
  const name = 'of the dead shard';
  await locks.lock(name).using(() => {});
  const primary = await bench.cluster.primaryOf(name);
  const living = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const one = `living:${i}`;
      return (await bench.cluster.primaryOf(one)) === primary ? [] : [one];
    }),
  );
  const leaseMs = 2_000;
  const lease = await locks.lock(name).acquire({ leaseMs });
  const order: string[] = [];
  lease.signal.addEventListener('abort', () => order.push('told'));
  const replica = await bench.cluster.replicaOf(primary);
  await Promise.all([primary.kill(), replica.kill()]);
  // Its last renewal was sent before this. A timer of ours that is due later fires later, however late both are.
  setTimeout(() => order.push('over'), leaseMs).unref();
  const failing = rejection(locks.lock(name).acquire());
  expect(living.flat().length).toBeGreaterThan(10);
  for (const one of living.flat()) {
    // Long before the outage of the dead shard would be over for whoever waits for it.
    await locks.lock(one).using(() => {}, { waitMs: FAILOVER_LIMIT_MS });
  }
  await waitFor(() => order.length === 2, { what: 'the owner to be told' });
  always(() => expect(order).toEqual(['told', 'over']));
  const error = await failing;
  expect(error).toBeInstanceOf(LockUnavailableError);
  await expect(locks.lock(name).tryAcquire()).rejects.toBeInstanceOf(LockUnavailableError);
});

test(
  'a list of all names says so when a shard does not answer, instead of leaving its names out',
  STEADY,
  async () => {
    const locks = await bench.session({ callTimeoutMs: 600 });
    await locks.lock('walked').acquire();
    const [other] = (await bench.cluster.primaries()) as [RedisServer];
    other.freeze();
    await expect(locks.list().next()).rejects.toThrow(/too few servers served it/);
    other.resume();
    // What piled up is run first, and a list that says so again is made again. The first that does not is whole.
    const names = await waitFor(() => listedNames(locks), { what: 'a list to its end', limitMs: 60_000 });
    expect(names).toContain('walked');
  },
);

test('what decides is never read from a replica, also when it holds the same keys', async () => {
  const [locks, other] = await Promise.all([bench.session(), bench.session()]);
  const name = 'decided by the primary';
  await locks.lock(name).using(() => {});
  const primary = await bench.cluster.primaryOf(name);
  const replica = await bench.cluster.replicaOf(primary);
  await command(replica, 'CONFIG', 'RESETSTAT');
  const lease = await locks.lock(name).acquire();
  await untilReplicated(name);
  // It will not hear of the release.
  replica.freeze();
  await lease.release();
  expect(await other.inspect(name)).toBeNull();
  const second = await other.lock(name).tryAcquire();
  expect(second?.isHeld).toBe(true);
  replica.resume();
  const evals = /cmdstat_eval(sha)?:calls=(\d+)/.exec(String(await command(replica, 'INFO', 'commandstats')));
  expect(evals).toBeNull();
});
