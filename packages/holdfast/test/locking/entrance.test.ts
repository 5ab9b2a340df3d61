/** Who gets in: the two numbers of a kind of lock, `holdsMax` and `ownersMax`, and who is asked for when. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { LeaseHandle } from '../../src/locking/lease.ts';
import { Session } from '../../src/locking/session.ts';
import { WaitLoop } from '../../src/locking/waiting/wait-loop.ts';
import { Waiter } from '../../src/locking/waiting/waiter.ts';
import { Waiters } from '../../src/locking/waiting/waiters.ts';
import { type AcquireOptions, resolveAcquireOptions } from '../../src/options/acquire-options.ts';
import type { Policy } from '../../src/topologies/protocol.ts';
import { gate } from '../support/gate.ts';
import { rejection } from '../support/rejection.ts';
import { failed, HELD, protocolWith, ScriptedTopology } from './support/scripted-topology.ts';

const PERMITS = { holdsMax: Number.POSITIVE_INFINITY };
const READERS = { ownersMax: Number.POSITIVE_INFINITY };

function setup(policy: Partial<Policy> = {}) {
  const topology = new ScriptedTopology();
  const { timers, options, clock } = topology;
  const session = new Session({ id: 's', topology, timers, options, record: null });
  const protocol = protocolWith(policy);
  const enter = (wanted: AcquireOptions = {}, isTry = false): Promise<LeaseHandle | null> => {
    const resolved = resolveAcquireOptions(wanted, options, isTry);
    return session.entrance(protocol).enter(resolved, clock.monotonicMs());
  };
  const acquire = async (wanted?: AcquireOptions): Promise<LeaseHandle> => {
    const lease = await enter(wanted);
    if (lease === null) throw new Error('expected a lease, got none');
    return lease;
  };
  return { topology, clock, session, acquire, attempt: () => enter({}, true) };
}

describe('permits: each owner has a hold of its own', () => {
  test('and as many as the servers grant are held at once', async () => {
    const { topology, session, acquire } = setup(PERMITS);
    const leases = await Promise.all([acquire(), acquire(), acquire()]);
    expect(leases.every(({ isHeld }) => isHeld)).toBe(true);
    expect([session.holds, topology.asked.length]).toEqual([3, 3]);
    expect(new Set(topology.asked.map(({ holder }) => holder)).size).toBe(3);
    for (const lease of leases) expect(await lease.release()).toBe(true);
    expect([session.holds, topology.released.length]).toEqual([0, 3]);
  });

  test('who is refused waits, and takes over the first hold that is given back', async () => {
    const { topology, clock, session, acquire } = setup(PERMITS);
    const [first, second] = [await acquire(), await acquire()];
    topology.answers.push(HELD, HELD);
    const third = acquire();
    await clock.settle();
    await first.release();
    expect((await third).isHeld).toBe(true);
    expect([topology.released, session.holds, second.isHeld]).toEqual([[], 2, true]);
  });

  test('a try is refused by the servers, and not by what this process holds', async () => {
    const { topology, acquire, attempt } = setup(PERMITS);
    await acquire();
    expect((await attempt())?.isHeld).toBe(true);
    topology.answers.push(HELD);
    expect(await attempt()).toBe(null);
  });

  test('an attempt without an answer is given back when a hand-over serves its caller', async () => {
    const { topology, clock, acquire } = setup(PERMITS);
    const old = await acquire();
    await clock.advance(50);
    const young = await acquire();
    const answer = gate();
    topology.answers.push(answer.opened.then(() => failed(true)));
    const asking = acquire();
    const controller = new AbortController();
    const behind = rejection(acquire({ signal: controller.signal }));
    const release = gate();
    topology.release = async () => {
      await release.opened;
      return { is: 'released', receivers: 0 };
    };
    const releasing = old.release();
    await young.release();
    answer.open();
    await clock.settle();
    controller.abort();
    release.open();
    expect([await releasing, (await asking).isHeld]).toEqual([true, true]);
    await behind;
    expect(topology.asked.map(({ holder }) => holder)).toEqual(['s:1', 's:2', 's:3']);
    expect(topology.abandoned).toEqual(['s:3']);
  });

  test('the loss of one hold leaves the others as they are', async () => {
    const { topology, session, acquire } = setup(PERMITS);
    const [first, second] = [await acquire(), await acquire()];
    session.holdsOf('a')[0]?.lose('gone');
    expect([first.isHeld, second.isHeld, session.holds]).toEqual([false, true, 1]);
    expect(topology.abandoned).toEqual(['s:1']);
  });
});

describe('readers: several owners share a hold', () => {
  test('and the hold is released with the last of them', async () => {
    const { topology, session, acquire } = setup(READERS);
    const leases = [await acquire(), await acquire(), await acquire()];
    expect([session.holds, topology.asked.length]).toEqual([1, 1]);
    for (const lease of leases) {
      expect([lease.isHeld, topology.released.length]).toEqual([true, 0]);
      expect(await lease.release()).toBe(true);
    }
    expect(topology.released).toEqual(['s:1']);
  });

  test('nobody is admitted once the hold is as old as it may be', async () => {
    const { topology, clock, acquire } = setup(READERS);
    const first = await acquire();
    await clock.advance(50);
    const second = acquire();
    await clock.settle();
    expect(topology.asked).toHaveLength(1);
    await first.release();
    expect((await second).isHeld).toBe(true);
    expect([topology.asked.length, topology.released.length]).toEqual([2, 1]);
  });

  test('a caller with a fixed lease does not share: the lease is the hold’s, and others renew it', async () => {
    const { topology, clock, acquire } = setup(READERS);
    const first = await acquire();
    const second = acquire({ renew: false, leaseMs: 5_000 });
    await clock.settle();
    expect(topology.asked).toHaveLength(1);
    await first.release();
    expect((await second).remainingMs).toBe(4_948);
  });

  test('the loss of the hold is told to all of them', async () => {
    const { session, acquire } = setup(READERS);
    const leases = [await acquire(), await acquire()];
    session.holdsOf('a')[0]?.lose('gone');
    expect(leases.map(({ signal }) => signal.reason.reason)).toEqual(['gone', 'gone']);
  });
});

describe('an entrance', () => {
  test('makes a waiter and a loop for a caller that is refused, and none for one that finds nobody there', async () => {
    const spies = [
      vi.spyOn(Waiters.prototype, 'newWaiter'),
      vi.spyOn(Waiter.prototype, 'resolve'),
      vi.spyOn(WaitLoop.prototype, 'run'),
    ];
    onTestFinished(() => {
      for (const spy of spies) spy.mockRestore();
    });
    const calls = (): number[] => spies.map((spy) => spy.mock.calls.length);
    const { topology, clock, acquire } = setup();
    await (await acquire()).release();
    expect(calls()).toEqual([0, 0, 0]);
    topology.answers.push(HELD, HELD);
    const refused = acquire();
    await clock.settle();
    topology.publish();
    await (await refused).release();
    expect(calls()).toEqual([1, 1, 1]);
  });

  test('serves a caller that was refused before those who came while it asked', async () => {
    const { topology, clock, acquire } = setup();
    topology.answers.push(HELD, HELD);
    const order: number[] = [];
    const callers = [0, 1, 2].map(async (i) => {
      const lease = await acquire();
      order.push(i);
      await lease.release();
    });
    await clock.settle();
    topology.publish();
    await Promise.all(callers);
    expect(order).toEqual([0, 1, 2]);
    expect(topology.asked).toHaveLength(3);
  });

  test('answers a try by the attempt that is under way', async () => {
    const { topology, clock, acquire, attempt } = setup();
    topology.answers.push(
      new Promise((resolve) => clock.startTimer(20, () => resolve(topology.granted(30_000)))),
    );
    const first = acquire();
    const tried = attempt();
    await clock.advance(20);
    expect([(await first).isHeld, await tried]).toEqual([true, null]);
    expect(topology.asked).toHaveLength(1);
  });

  test('gives back a grant that crosses the closing of the session', async () => {
    const { topology, clock, session, acquire } = setup();
    topology.answers.push(
      new Promise((resolve) => clock.startTimer(20, () => resolve(topology.granted(30_000)))),
    );
    const error = rejection(acquire());
    const closed = session.close(0);
    await clock.advance(20);
    await closed;
    expect(await error).toMatchObject({ code: 'ELOCKCLOSED', lock: 'a' });
    expect([topology.abandoned, session.holds]).toEqual([['s:1'], 0]);
  });

  test('is forgotten when nobody uses it, and found again while somebody does', async () => {
    const { session, acquire } = setup();
    const protocol = protocolWith({});
    const entrance = session.entrance(protocol);
    const lease = await acquire();
    expect(session.entrance(protocol)).toBe(entrance);
    await lease.release();
    expect(session.entrance(protocol)).not.toBe(entrance);
  });
});
