/**
 * Whatever takes a lease away, its owner is told by t0 + lease - drift: on its own clock, by its own timer, and so
 * before the server can let anybody else in.
 */
import { describe, expect, test } from 'vitest';
import type { Lease, LossReason } from '../../src/index.ts';
import type { FaultProxy } from '../support/fault-proxy.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { ask } from '../support/raw-redis.ts';
import { type RedisServer, useRedis } from '../support/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { FOREIGN_OWNER, held, MATRIX, type Subject, useBench } from './acquire-support.ts';
import { acquireWatched, type WatchedLease } from './holder-support.ts';

const LEASE_MS = 1_500;

const server = useRedis();
useLeakCheck(server);
const bench = useBench();

interface Holder {
  readonly label: string;
  readonly subject: Subject;
  readonly name: string;
  readonly watched: WatchedLease;
}

interface Scene {
  readonly server: RedisServer;
  readonly proxy: FaultProxy;
  readonly holders: readonly Holder[];
}

interface Fault {
  readonly what: string;
  readonly reason: LossReason;
  strike(scene: Scene): Promise<void> | void;
  /** Undoes it once everybody was told. */
  heal(scene: Scene): Promise<void> | void;
}

/** One owner for each client and each kind, all behind the same proxy, each renewed at least once. */
async function hold(proxy: FaultProxy): Promise<Holder[]> {
  const holders = await Promise.all(
    MATRIX.map(async ({ client, subject }) => {
      const locks = await bench.session(proxy.port, { client });
      const name = bench.name();
      const watched = await acquireWatched(bench, subject.of(locks, name), { leaseMs: LEASE_MS });
      return { label: `${subject.kind} on ${client}`, subject, name, watched };
    }),
  );
  await waitFor(() => holders.every(({ watched }) => watched.renewals > 0), { what: 'renewals' });
  return holders;
}

async function strike(fault: Fault): Promise<Scene> {
  const proxy = await bench.proxy(server.port);
  const scene = { server, proxy, holders: await hold(proxy) };
  await fault.strike(scene);
  return scene;
}

async function expectAllTold({ holders }: Scene, reason: LossReason): Promise<void> {
  await Promise.all(holders.map(({ watched }) => watched.lost()));
  for (const { watched, label } of holders) {
    expect(watched.told?.reason, label).toBe(reason);
    watched.expectToldInTime(label);
  }
}

const TAKEN_BY_AN_ADMIN: Fault[] = [
  {
    what: 'its key is deleted',
    reason: 'gone',
    strike: async ({ holders }) => {
      await ask(server.port, ['DEL', ...holders.map(({ name }) => name)]);
    },
    heal: () => {},
  },
  {
    what: 'its key is replaced by that of another owner',
    reason: 'gone',
    strike: async ({ holders }) => {
      for (const { name, subject } of holders) {
        await ask(server.port, ['DEL', name]);
        await subject.take(server.port, name, 60_000);
      }
    },
    heal: async ({ holders }) => {
      for (const { name, subject, label } of holders) {
        const found = await held(server.port, subject, name);
        expect(found?.owner, `${label}: the other owner`).toBe(FOREIGN_OWNER);
        // Neither a late renewal nor a late release touched it.
        expect(found?.ttlMs, label).toBeGreaterThan(50_000);
        await ask(server.port, ['DEL', name]);
      }
    },
  },
  {
    what: 'its key is replaced by something of another type',
    reason: 'gone',
    strike: async ({ holders }) => {
      for (const { name } of holders) {
        await ask(server.port, ['DEL', name]);
        await ask(server.port, ['RPUSH', name, 'somebody']);
      }
    },
    heal: async ({ holders }) => {
      for (const { name } of holders) {
        expect(await ask(server.port, ['LRANGE', name, '0', '-1'])).toEqual(['somebody']);
        await ask(server.port, ['DEL', name]);
      }
    },
  },
  {
    what: 'the server is flushed',
    reason: 'gone',
    strike: async () => {
      await ask(server.port, ['FLUSHALL']);
    },
    heal: () => {},
  },
];

const CUT_OFF: Fault[] = [
  {
    what: 'the network is cut',
    reason: 'expired',
    strike: ({ proxy }) => {
      proxy.refuse();
      proxy.cutAll();
    },
    heal: ({ proxy }) => proxy.accept(),
  },
  {
    what: 'the network is half-open',
    reason: 'expired',
    strike: ({ proxy }) => proxy.freeze(),
    heal: ({ proxy }) => proxy.thaw(),
  },
];

const WITHOUT_A_SERVER: Fault[] = [
  { what: 'the server is frozen', reason: 'expired', strike: () => server.freeze(), heal: () => server.resume() },
  { what: 'the server is killed', reason: 'expired', strike: () => server.kill(), heal: () => server.restart() },
];

describe.each(TAKEN_BY_AN_ADMIN)('when $what', (fault) => {
  test('the owner is told within one renewal, and before its deadline', async () => {
    const struckMs = performance.now();
    const scene = await strike(fault);
    const afterMs = performance.now();
    await expectAllTold(scene, fault.reason);
    for (const { watched, label } of scene.holders) {
      const { atMs, stalledMs } = await watched.lost();
      expect(atMs, label).toBeGreaterThan(struckMs);
      // A renewal is due after a third of a lease; the rest is for a busy machine.
      expect(atMs - stalledMs - afterMs, `${label}: told after the strike`).toBeLessThan(LEASE_MS / 2);
      expect(await watched.lease.release(), label).toBe(false);
    }
    await fault.heal(scene);
  });
});

describe.each(CUT_OFF)('when $what', (fault) => {
  test('the owner is told at its deadline, and before anybody else gets in', async () => {
    const rival = await bench.session(server.port);
    const scene = await strike(fault);
    const grants = scene.holders.map(async ({ subject, name }) => {
      const lease: Lease = await subject.of(rival, name).acquire({ waitMs: 10_000 });
      const atMs = performance.now();
      await lease.release();
      return atMs;
    });
    await expectAllTold(scene, fault.reason);
    const grantedMs = await Promise.all(grants);
    for (const [i, { watched, label }] of scene.holders.entries()) {
      watched.expectNotToldEarly(label);
      expect(grantedMs[i], `${label}: somebody else got in`).toBeGreaterThan((await watched.lost()).atMs);
    }
    await fault.heal(scene);
  });
});

describe.each(WITHOUT_A_SERVER)('when $what', (fault) => {
  test('the owner is told at its deadline, and the name is free once the server is back', async () => {
    const scene = await strike(fault);
    await expectAllTold(scene, fault.reason);
    for (const { watched, label } of scene.holders) watched.expectNotToldEarly(label);
    await fault.heal(scene);
    const rival = await bench.session(server.port);
    for (const { subject, name, label } of scene.holders) {
      // Renewals that had piled up in front of the server must not keep it for anybody.
      const lease = await subject.of(rival, name).acquire({ waitMs: 5_000 });
      expect(lease.isHeld, label).toBe(true);
      await lease.release();
    }
  });
});
