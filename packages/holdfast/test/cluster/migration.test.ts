/** Slots that move while somebody holds a lock in them, waits for one, or comes for one. */
import { afterEach, expect, test } from 'vitest';
import {
  type FencedLease,
  type LockLostError,
  type Locks,
  LockUnavailableError,
  LockUnknownError,
} from '../../src/index.ts';
import { slotOf } from '../../src/keys/slot.ts';
import { listedNames } from '../support/locks/listed.ts';
import { allServed, SERVED_AGAIN_MS } from '../support/locks/served.ts';
import { wokenBy } from '../support/locks/woken.ts';
import { atOnce, rejection } from '../support/rejection.ts';
import { command } from '../support/servers/redis-cluster.ts';
import { SlotMigration } from '../support/servers/slot-migration.ts';
import { steady } from '../support/steady.ts';
import { always, Violation } from '../support/violation.ts';
import { elapse, waitFor } from '../support/wait-for.ts';
import { useClusterBench } from './bench.ts';
import { SOME_CLUSTER_FLAVOURS } from './callers.ts';

const bench = useClusterBench();
const STEADY = steady();

/** Renewed at a third of it; long enough to live through a stall of the machine. */
const LEASE_MS = 4_500;

/** Well below what a waiter sleeps that nobody wakes. */
const FOLLOWS_MS = 2_000;

let migration: SlotMigration | null = null;

async function migrationOf(name: string): Promise<SlotMigration> {
  migration = await SlotMigration.of(bench.cluster, slotOf(name));
  return migration;
}

/** What is left half-way would make the next test wait for a whole cluster in vain. */
afterEach(async () => {
  await migration?.settle();
  migration = null;
});

test.each(SOME_CLUSTER_FLAVOURS)(
  'a lock that moves while it is held is renewed and released where it went, with $name',
  STEADY,
  async (flavour) => {
    const locks = await bench.session({}, flavour);
    const name = `held:${flavour.name}`;
    const lease = await locks.lock(name).acquire({ leaseMs: LEASE_MS });
    const { from, to } = await migrationOf(name);
    await migration?.run();
    expect(await command(from, 'EXISTS', name).catch(String)).toMatch(/MOVED/);
    // Longer than a lease: without renewals at the new node it would be gone.
    await elapse(1.2 * LEASE_MS);
    lease.signal.throwIfAborted();
    expect(lease.isHeld).toBe(true);
    expect(await command(to, 'EXISTS', name)).toBe(1);
    expect(await lease.release()).toBe(true);
    expect(await command(to, 'EXISTS', name)).toBe(0);
    const next = await locks.lock(name).acquire();
    always(() => expect(next.fence).toBeGreaterThan(lease.fence));
  },
);

test.each(SOME_CLUSTER_FLAVOURS)(
  'a lock in a slot that is half-way is renewed, entered again, listed and released by asking, with $name',
  STEADY,
  async (flavour) => {
    const locks = await bench.session({}, flavour);
    const name = `half:${flavour.name}`;
    // Of the third the lock has moved, and its counter of fences has not.
    const [moved, stayed, torn] = [`{${name}}:a`, `{${name}}:b`, `{${name}}:c`];
    const leases = await Promise.all(
      [moved, stayed, torn].map((one) => locks.lock(one).acquire({ leaseMs: LEASE_MS })),
    );
    const { to } = await migrationOf(name);
    await migration?.begin();
    await migration?.moveKeys(moved, `redisson_lock_token:${moved}`, torn);
    await elapse(1.2 * LEASE_MS);
    for (const { signal } of leases) signal.throwIfAborted();
    expect(leases.map(({ isHeld }) => isHeld)).toEqual([true, true, true]);
    // Nobody may enter there without having been sent.
    expect(await command(to, 'EXISTS', moved).catch(String)).toMatch(/MOVED/);
    const [first, , third] = leases as [FencedLease, FencedLease, FencedLease];
    const again = await locks.lock(moved).acquire({ within: first });
    expect(await locks.inspect(moved)).toMatchObject({ holdCount: 2 });
    expect(await listedNames(locks, { prefix: `{${name}}` })).toEqual([moved, stayed, torn]);
    expect(await again.release()).toBe(true);
    const inner = await locks.lock(torn).acquire({ within: third });
    expect(await inner.release()).toBe(true);
    expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual([true, true, true]);
  },
);

test(
  'what is taken away by force in a slot that is half-way is told to its owner, with the words or without',
  STEADY,
  async () => {
    const [locks, admin] = await Promise.all([bench.session(), bench.session()]);
    const name = 'forced';
    const [moved, stayed, torn, early] = [`{${name}}:a`, `{${name}}:b`, `{${name}}:c`, `{${name}}:d`];
    const leases = new Map<string, FencedLease>();
    for (const one of [moved, stayed, torn, early]) {
      leases.set(one, await locks.lock(one).acquire({ leaseMs: 60_000, renew: false }));
    }
    const take = async (one: string): Promise<void> =>
      expect(await admin.forceRelease(one, { reason: `no more ${one}` })).not.toBeNull();
    const told = (one: string): Promise<unknown> =>
      rejection(leases.get(one)?.extend(60_000) ?? Promise.resolve());
    await take(early);
    await migrationOf(name);
    await migration?.begin();
    await migration?.moveKeys(moved, `redisson_lock_token:${moved}`, torn);
    for (const one of [moved, stayed, torn]) {
      await take(one);
      const error = await told(one);
      // A node that the slot leaves refuses a key that it does not have. Then there are no words, and the loss is told all the same.
      expect(error).toMatchObject({ code: 'ELOCKLOST', reason: expect.stringMatching(/^(gone|revoked)$/) });
      if ((error as LockLostError).reason === 'revoked') expect(String(error)).toContain(`no more ${one}`);
    }
    await migration?.settle();
    // Words move with their slot.
    expect(await told(early)).toMatchObject({ reason: 'revoked', message: expect.stringContaining(early) });
  },
);

test.each(['sharded', 'plain', 'both'] as const)(
  'those who wait while their slot moves are served by releases at the new node, with %s channels',
  STEADY,
  async (pubsub) => {
    const sessions = [0, 1, 2].map(() => bench.session({ pubsub }));
    const [locks, other, last] = (await Promise.all(sessions)) as [Locks, Locks, Locks];
    const name = `waiting:${pubsub}`;
    const lease = await locks.lock(name).acquire();
    const waiting = other.lock(name).acquire();
    const count = pubsub === 'plain' ? 'NUMSUB' : 'SHARDNUMSUB';
    await bench.untilListening(bench.mailbox(other, name), 1, count);
    const behind = last.lock(name).acquire();
    await bench.untilListening(bench.mailbox(last, name), 1, count);
    const { to } = await migrationOf(name);
    await migration?.run();
    if (pubsub !== 'plain') await bench.untilListeningAt(to, bench.mailbox(other, name));
    const next = await wokenBy(name, async () => expect(await lease.release()).toBe(true), waiting);
    expect(await next.release()).toBe(true);
    expect(await allServed([behind])).toBeLessThan(SERVED_AGAIN_MS);
  },
);

test.each(SOME_CLUSTER_FLAVOURS)(
  'a sharded subscription follows its slot within two seconds, without being asked, with $name',
  STEADY,
  async (flavour) => {
    const [locks, other] = await Promise.all([bench.session(), bench.session({}, flavour)]);
    const name = `follows:${flavour.name}`;
    const bystander = `{${name}}:other`;
    const lease = await locks.lock(name).acquire();
    const second = await locks.lock(bystander).acquire();
    const waiting = [name, bystander].map((one) => other.lock(one).acquire());
    await bench.untilListening(bench.mailbox(other, name));
    await bench.untilListening(bench.mailbox(other, bystander));
    const { to } = await migrationOf(name);
    await migration?.begin();
    await migration?.moveKeys();
    const movedMs = performance.now();
    await migration?.finish();
    await bench.untilListeningAt(to, bench.mailbox(other, name));
    expect(performance.now() - movedMs).toBeLessThan(FOLLOWS_MS);
    await Promise.all([lease.release(), second.release()]);
    await Promise.all(waiting);
  },
);

test('a new name in a slot that is half-way waits until the slot has arrived', async () => {
  const locks = await bench.session({ callTimeoutMs: 20_000 });
  const name = 'new in a moving slot';
  await locks.lock('elsewhere').using(() => {});
  await migrationOf(name);
  await migration?.begin();
  const acquiring = locks.lock(name).tryAcquire();
  // Both of its keys are missing on both sides: nobody may say which side they belong to.
  await elapse(300);
  expect(await atOnce(acquiring)).toBe('still pending');
  await migration?.finish();
  expect(await (await acquiring)?.release()).toBe(true);
});

test('a slot that stays half-way for too long is an outage that says so, and nothing is left behind', async () => {
  const locks = await bench.session({ callTimeoutMs: 1_000 });
  const name = 'stuck in a moving slot';
  await locks.lock('elsewhere').using(() => {});
  const { from, to } = await migrationOf(name);
  await migration?.begin();
  // Time may be over while one of its requests is on the way: then nobody knows, and that is what it says.
  const error = await waitFor(
    async () => {
      const reason = await rejection(locks.lock(name).tryAcquire());
      if (!(reason instanceof LockUnavailableError || reason instanceof LockUnknownError))
        throw new Violation(String(reason));
      // Its time may also be over when it was sent on, and has not been told yet what the other side says.
      return /TRYAGAIN/.test(String(reason)) && reason;
    },
    { what: 'a try whose last request is answered by who gets the slot', limitMs: 60_000 },
  );
  expect(error).toBeInstanceOf(LockUnavailableError);
  for (const node of [from, to]) {
    const keys = await command(node, 'CLUSTER', 'GETKEYSINSLOT', `${slotOf(name)}`, '10');
    expect(keys).toEqual([]);
  }
});

test('renewals of one slot travel together, and those of others apart', STEADY, async () => {
  const locks = await bench.session();
  const together = Array.from({ length: 20 }, (_, i) => `{batch}:${i}`);
  const apart = ['b1', 'b2', 'b3', 'b4'];
  const leases = await Promise.all(
    [...together, ...apart].map((name) => locks.lock(name).acquire({ leaseMs: 4_500 })),
  );
  /** How often they were asked, and for how many leases, over all primaries. */
  const asked = async (): Promise<{ calls: number; leases: number }> => {
    const infos = await Promise.all(
      (await bench.cluster.primaries()).map((node) => command(node, 'INFO', 'commandstats')),
    );
    const sum = (name: string): number =>
      infos
        .map((info) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(String(info))?.[1] ?? 0))
        .reduce((total, count) => total + count, 0);
    // Whether it is still theirs is looked up once for each lease, by no other script of this test.
    return { calls: sum('evalsha'), leases: sum('hexists') };
  };
  const before = await asked();
  const rounds = 3;
  const after = await waitFor(
    async () => {
      const now = await asked();
      return now.leases - before.leases >= rounds * leases.length && now;
    },
    { what: 'three rounds of renewals', limitMs: 60_000 },
  );
  for (const { signal } of leases) signal.throwIfAborted();
  expect(leases.every(({ isHeld }) => isHeld)).toBe(true);
  // Five slots: five calls a round, where one by one it would be twenty-four.
  expect(after.calls - before.calls).toBeGreaterThanOrEqual(5 * rounds);
  expect(after.calls - before.calls).toBeLessThan((after.leases - before.leases) / 2);
  await Promise.all(leases.map((lease) => lease.release()));
});

test('a slot that nobody has is told by its word, sat out by who waits, and served when somebody has it again', async () => {
  const locks = await bench.session();
  const name = 'nobody has this';
  await locks.lock(name).using(() => {});
  const primary = await bench.cluster.primaryOf(name);
  const slot = `${slotOf(name)}`;
  await Promise.all(
    bench.cluster.nodes.map((node) => command(node, 'CLUSTER', 'DELSLOTS', slot).catch(() => {})),
  );
  const error = await rejection(locks.lock(name).tryAcquire());
  const waiting = locks.lock(name).acquire();
  await elapse(500);
  expect(await atOnce(waiting)).toBe('still pending');
  await command(primary, 'CLUSTER', 'ADDSLOTS', slot);
  await command(primary, 'CLUSTER', 'BUMPEPOCH');
  expect(error).toBeInstanceOf(LockUnavailableError);
  expect(String(error)).toMatch(/CLUSTERDOWN/);
  expect(await (await waiting).release()).toBe(true);
});
