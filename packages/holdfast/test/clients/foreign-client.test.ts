/**
 * A client of the caller's own making whose verbs reject or throw, one after the other. It is caught once, where it was
 * handed in: every caller is told one of the failures of a call, nobody waits for ever, and no rejection goes unhandled.
 */

import { EmbeddedNode, ManualClock } from 'holdfast-testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LockLostError, Locks, type LocksOptions, LockUnknownError } from '../../src/index.ts';
import { ForeignClient, MANNERS, type Manner } from '../locking/support/foreign-client.ts';
import { rejection } from '../support/rejection.ts';

const LEASE_MS = 3_000;
const RULE = /against the rules of the seam/;

/** Every kind of call that a session makes, by the script that it runs. */
const SCRIPTS = [
  'lock.acquire',
  'lock.release',
  'lock.renew',
  'lock.recount',
  'session.record',
  'session.forget',
  'admin.inspect',
];

interface World {
  readonly clock: ManualClock;
  readonly node: EmbeddedNode;
  readonly client: ForeignClient;
  readonly locks: Locks;
  /** A second process, whose client keeps the rules. */
  readonly others: Locks;
}

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
const cleanUps: (() => Promise<void>)[] = [];

beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', note);
});

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

async function world(manner: Manner, options: LocksOptions = {}): Promise<World> {
  const clock = new ManualClock();
  const node = new EmbeddedNode({ clock });
  // From here on it answers at once: what it takes to load its Lua is no time of this clock.
  await node.command('PING');
  const client = new ForeignClient(node.client(), manner);
  const common = { clock, leaseMs: LEASE_MS, outageMs: 2_000 };
  const locks = new Locks(client, { ...common, ...options });
  const others = new Locks(node.client(), common);
  cleanUps.push(async () => {
    client.heal();
    await locks.destroy();
    await others.destroy();
    await node.close();
  });
  return { clock, node, client, locks, others };
}

/** Lets time pass until it has settled. */
async function until<Result>(clock: ManualClock, work: Promise<Result>, limitMs = 60_000): Promise<Result> {
  let isSettled = false;
  const settled = work.finally(() => (isSettled = true)).catch(() => {});
  for (let passedMs = 0; !isSettled && passedMs < limitMs; passedMs += 50) await clock.advance(50);
  if (!isSettled) throw new Error(`still waiting after ${limitMs} ms`);
  await settled;
  return work;
}

test('a client that answers what no script says, and JSON cannot write, has not answered', async () => {
  const { clock, client, locks } = await world('rejects');
  client.run = async () => 1n as never;
  expect(await until(clock, rejection(locks.lock('a').tryAcquire()))).toBeInstanceOf(LockUnknownError);
});

describe.each(MANNERS)('a client that %s', (manner) => {
  test('in an acquire, once, is asked again and grants it', async () => {
    const { clock, client, locks } = await world(manner);
    client.break('lock.acquire', 1);
    const lease = await until(clock, locks.lock('a').acquire());
    expect(client.broken).toBe(1);
    expect(await until(clock, lease.release())).toBe(true);
  });

  test('in every acquire tells all who wait that nobody knows', async () => {
    const { clock, client, locks } = await world(manner);
    client.break('lock.acquire');
    const waiting = [1, 2, 3].map(() => rejection(locks.lock('a').acquire()));
    for (const error of await until(clock, Promise.all(waiting))) {
      expect(error).toBeInstanceOf(LockUnknownError);
      expect(String(error)).toMatch(RULE);
    }
    client.heal();
    expect(
      await until(
        clock,
        locks.lock('a').using(() => 'served'),
      ),
    ).toBe('served');
  });

  test('in a renewal, twice, is asked again, and the lease is kept', async () => {
    const { clock, client, locks } = await world(manner);
    const lease = await until(clock, locks.lock('a').acquire());
    client.break('lock.renew', 2);
    await clock.advance(2 * LEASE_MS);
    expect(client.broken).toBe(2);
    expect(lease.isHeld).toBe(true);
    expect(await until(clock, lease.release())).toBe(true);
  });

  test('in every renewal costs the lease at its deadline, and the owner is told', async () => {
    const { clock, client, locks } = await world(manner);
    const lease = await until(clock, locks.lock('a').acquire());
    client.break('lock.renew');
    await clock.advance(LEASE_MS);
    expect(lease.isHeld).toBe(false);
    expect(lease.signal.reason).toBeInstanceOf(LockLostError);
  });

  test('in an extension tells the caller, and the lease is as it was', async () => {
    const { clock, client, locks } = await world(manner);
    const lease = await until(clock, locks.lock('a').acquire());
    client.break('lock.renew', 1);
    expect(await until(clock, rejection(lease.extend(10_000)))).toBeInstanceOf(LockUnknownError);
    expect(lease.isHeld).toBe(true);
    expect(await until(clock, lease.release())).toBe(true);
  });

  test('while a hold is handed to a caller with a fixed lease still serves that caller', async () => {
    const { clock, client, locks } = await world(manner, { handoverMs: 60_000 });
    const first = await until(clock, locks.lock('a').acquire());
    // A hold can be handed over as often as callers waited when it was asked for: the second one can, once.
    const second = locks.lock('a').acquire();
    const waiting = locks.lock('a').acquire({ renew: false, leaseMs: 2_000 });
    await until(clock, first.release());
    const lease = await until(clock, second);
    client.break('lock.renew', 1);
    await until(clock, lease.release());
    const next = await until(clock, waiting);
    expect(client.broken).toBe(1);
    expect(await until(clock, next.release())).toBe(true);
  });

  test('in a release tells the caller, and those who wait are served', async () => {
    const { clock, client, locks } = await world(manner, { handovers: 0 });
    const lease = await until(clock, locks.lock('a').acquire());
    const waiting = locks.lock('a').acquire();
    await clock.advance(1);
    client.break('lock.release', 2);
    expect(await until(clock, rejection(lease.release()))).toBeInstanceOf(LockUnknownError);
    const next = await until(clock, waiting);
    expect(client.broken).toBe(2);
    expect(next.fence).toBeGreaterThan(lease.fence);
    expect(await until(clock, next.release())).toBe(true);
  });

  test('in a re-entry, once, is asked again, and in leaving it hurts nobody', async () => {
    const { clock, client, locks } = await world(manner);
    const outer = await until(clock, locks.lock('a').acquire());
    client.break('lock.recount', 1);
    const inner = await until(clock, locks.lock('a').acquire({ within: outer }));
    expect(client.broken).toBe(1);
    client.break('lock.recount', 1);
    await until(clock, Promise.allSettled([inner.release()]));
    expect(client.broken).toBe(2);
    expect(outer.isHeld).toBe(true);
    expect(await until(clock, outer.release())).toBe(true);
  });

  test('in a subscription leaves the waiter to its timer, and when it stops listening nobody is hurt', async () => {
    const { clock, client, locks, others } = await world(manner);
    const theirs = await until(clock, others.lock('a').acquire());
    client.break('listen', 2);
    client.break('stop');
    const waiting = locks.lock('a').acquire();
    await clock.advance(5_000);
    expect(client.broken).toBeGreaterThanOrEqual(2);
    expect(await until(clock, theirs.release())).toBe(true);
    const lease = await until(clock, waiting);
    expect(await until(clock, lease.release())).toBe(true);
  });

  test('in the record of a session is asked again, and the record is there in the end', async () => {
    const { clock, node, client, locks } = await world(manner, { application: 'shop' });
    client.break('session.record', 1);
    const record = async (): Promise<string> => String(await node.command('SCAN', '0'));
    const lease = await until(clock, locks.lock('a').acquire());
    await clock.advance(1);
    expect(client.broken).toBe(1);
    expect(await record()).not.toContain('holdfast_session:');
    await clock.advance(25_000);
    expect(await record()).toContain('holdfast_session:');
    expect(lease.isHeld).toBe(true);
    client.break('session.forget', 1);
    await until(clock, lease.release());
    await until(clock, locks.close());
    expect(client.broken).toBe(2);
  });

  test('in a look at a lock, or in a release by force, tells the caller', async () => {
    const { clock, client, locks } = await world(manner);
    for (const script of ['admin.inspect', 'admin.scan', 'admin.force-release-lock', 'admin.health']) {
      client.break(script);
    }
    const list = async (): Promise<void> => {
      for await (const _ of locks.list()) break;
    };
    const looks = [() => locks.inspect('a'), list, () => locks.forceRelease('a'), () => locks.check()];
    for (const look of looks) {
      expect(await until(clock, rejection(look()))).toBeInstanceOf(LockUnknownError);
    }
  });

  test('in close does not keep `Locks` from closing, and is told as a warning', async () => {
    const { clock, client, locks } = await world(manner);
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    await until(
      clock,
      locks.lock('a').using(() => {}),
    );
    client.break('close');
    await until(clock, locks.close());
    expect(warn).toHaveBeenCalledWith(expect.stringMatching(RULE), {
      type: 'HoldfastWarning',
      code: 'HOLDFAST_CLIENT_CLOSE',
    });
    warn.mockRestore();
  });

  test.each(['acknowledge', 'copies'])(
    'in the count of replicas (%s) refuses the grant and gives it back',
    async (verb) => {
      const { clock, client, locks, others } = await world(manner, { replicas: { min: 1 } });
      await until(
        clock,
        locks.lock('a').using(() => {}),
      );
      client.break(verb);
      expect(String(await until(clock, rejection(locks.lock('a').tryAcquire())))).toMatch(RULE);
      client.heal();
      expect(
        await until(
          clock,
          others.lock('a').using(() => 'free'),
        ),
      ).toBe('free');
    },
  );

  test('in everything, at any time, is survived', async () => {
    const { clock, client, locks } = await world(manner, { application: 'shop', handovers: 0 });
    for (const verb of [...SCRIPTS, 'listen', 'stop', 'isConnected', 'connections']) client.break(verb, 3);
    const working = [1, 2, 3].map(async () => {
      await locks.lock('a').using(async (lease) => {
        await locks.lock('a').using(() => {});
        await locks.inspect('a');
        return lease.isHeld;
      });
    });
    const outcomes = await until(clock, Promise.allSettled(working));
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(LockUnknownError);
    }
    client.heal();
    await clock.advance(2 * LEASE_MS);
    expect(
      await until(
        clock,
        locks.lock('a').using((lease) => lease.isHeld),
      ),
    ).toBe(true);
  });
});
