/**
 * Whatever takes a lease away, its owner is told by t0 + lease - drift: on its own clock, by its own timer, and so
 * before the server can let anybody else in.
 */
import { describe, expect, test } from 'vitest';
import type { Lease, LossReason } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held } from '../../support/locks/held.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { always } from '../../support/violation.ts';
import { waitFor } from '../../support/wait-for.ts';
import { acquireWatched, openRows, type Row, type WatchedLease } from '../holder/support.ts';

const LEASE_MS = 1_500;
/** Where a renewal must find out: a lease that bears a machine which stands still for seconds. */
const LONG_LEASE_MS = 6_000;
/** A short lease may be lost to a stall before anything has happened to it. */
const HOLD_TRIES_MAX = 5;

const server = useRedis();
useLeakCheck(server);
const bench = useBench();

interface Holder extends Row {
  readonly watched: WatchedLease;
}

type Holders = readonly Holder[];

interface Fault {
  readonly what: string;
  readonly reason: LossReason;
  strike(holders: Holders): Promise<void> | void;
  /** Undoes it once everybody was told. */
  heal(holders: Holders): Promise<void> | void;
}

/** One owner for each client and each kind, each renewed at least once, none of which has lost its lease yet. */
async function hold(leaseMs: number): Promise<Holder[]> {
  for (let tries = 1; tries <= HOLD_TRIES_MAX; tries += 1) {
    const rows = await openRows(bench, server.port);
    const holders = await Promise.all(
      rows.map(async (row) => ({
        ...row,
        watched: await acquireWatched(bench, row.lock, { leaseMs }),
      })),
    );
    await waitFor(() => holders.every(({ watched }) => watched.renewals > 0 || watched.told !== null), {
      what: 'renewals',
    });
    if (holders.every(({ watched }) => watched.told === null)) return holders;
    await Promise.allSettled(holders.map(({ watched }) => watched.lease.release()));
  }
  throw new Error(`one of the leases of ${leaseMs} ms was lost ${HOLD_TRIES_MAX} times without a fault`);
}

async function expectAllTold(holders: Holders, reason: LossReason): Promise<void> {
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
    strike: async (holders) => {
      await ask(server.port, ['DEL', ...holders.map(({ lock }) => lock.name)]);
    },
    heal: () => {},
  },
  {
    what: 'its key is replaced by that of another owner',
    reason: 'gone',
    strike: async (holders) => {
      for (const { lock, kind } of holders) {
        await ask(server.port, ['DEL', lock.name]);
        await kind.seize(server.port, lock.name, 60_000);
      }
    },
    heal: async (holders) => {
      for (const { lock, kind, label } of holders) {
        const found = await held(server.port, kind, lock.name);
        expect(found?.owner, `${label}: the other owner`).toBe(kind.foreignOwner);
        // Neither a late renewal nor a late release touched it.
        expect(found?.ttlMs, label).toBeGreaterThan(50_000);
        await ask(server.port, ['DEL', lock.name]);
      }
    },
  },
  {
    what: 'its key is replaced by something of another type',
    reason: 'gone',
    strike: async (holders) => {
      for (const { lock } of holders) {
        await ask(server.port, ['DEL', lock.name]);
        await ask(server.port, ['RPUSH', lock.name, 'somebody']);
      }
    },
    heal: async (holders) => {
      for (const { lock } of holders) {
        expect(await ask(server.port, ['LRANGE', lock.name, '0', '-1'])).toEqual(['somebody']);
        await ask(server.port, ['DEL', lock.name]);
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
    strike: (holders) => {
      for (const { proxy } of holders) {
        proxy.refuse();
        proxy.cutAll();
      }
    },
    heal: async (holders) => {
      for (const { proxy } of holders) await proxy.accept();
    },
  },
  {
    what: 'the network is half-open',
    reason: 'expired',
    strike: (holders) => {
      for (const { proxy } of holders) proxy.freeze();
    },
    heal: (holders) => {
      for (const { proxy } of holders) proxy.thaw();
    },
  },
];

const WITHOUT_A_SERVER: Fault[] = [
  {
    what: 'the server is frozen',
    reason: 'expired',
    strike: () => server.freeze(),
    heal: () => server.resume(),
  },
  {
    what: 'the server is killed',
    reason: 'expired',
    strike: () => server.kill(),
    heal: () => server.restart(),
  },
];

describe.each(TAKEN_BY_AN_ADMIN)('when $what', (fault) => {
  test('the owner is told within one renewal, and before its deadline', async () => {
    const holders = await hold(LONG_LEASE_MS);
    await fault.strike(holders);
    // By a renewal: its own timer would have said `expired`.
    await expectAllTold(holders, fault.reason);
    for (const { watched, label } of holders) {
      expect(await watched.lease.release(), label).toBe(false);
    }
    await fault.heal(holders);
  });
});

describe.each(CUT_OFF)('when $what', (fault) => {
  test('the owner is told at its deadline, and before anybody else gets in', async () => {
    const rival = await bench.session(server.port);
    const holders = await hold(LEASE_MS);
    await fault.strike(holders);
    const grants = holders.map(async ({ kind, lock }) => {
      const lease: Lease = await kind.of(rival, lock.name).acquire({ waitMs: 60_000 });
      const atMs = performance.now();
      await lease.release();
      return atMs;
    });
    await expectAllTold(holders, fault.reason);
    const grantedMs = await Promise.all(grants);
    for (const [i, { watched, label }] of holders.entries()) {
      watched.expectNotToldEarly(label);
      const { atMs } = await watched.lost();
      always(() => expect(grantedMs[i], `${label}: somebody else got in`).toBeGreaterThan(atMs));
    }
    await fault.heal(holders);
  });
});

describe.each(WITHOUT_A_SERVER)('when $what', (fault) => {
  test('the owner is told at its deadline, and the name is free once the server is back', async () => {
    const rival = await bench.session(server.port);
    const holders = await hold(LEASE_MS);
    await fault.strike(holders);
    await expectAllTold(holders, fault.reason);
    for (const { watched, label } of holders) watched.expectNotToldEarly(label);
    await fault.heal(holders);
    for (const { kind, lock, label } of holders) {
      // Renewals that had piled up in front of the server must not keep it for anybody.
      const lease = await kind.of(rival, lock.name).acquire({ waitMs: 60_000 });
      expect(lease.isHeld, label).toBe(true);
      await lease.release();
    }
  });
});
