/** Safety rule 11: a user's callback runs last, and cannot hurt us. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, test, vi } from 'vitest';
import type { Lease } from '../../src/locking/lease.ts';
import { Owner } from '../../src/locking/owner.ts';
import { CHANNELS } from '../../src/telemetry/channels.ts';
import { hangs } from './support/scripted-client.ts';
import { Stage, type StageProcess } from './support/stage.ts';
import { uncaughtDuring } from './support/uncaught.ts';

const FAULT = new Error('a fault of the caller');
const fault = (): never => {
  throw FAULT;
};

function setup(): { stage: Stage; process: StageProcess } {
  const stage = new Stage();
  return { stage, process: stage.process() };
}

describe('rule 11: an abort listener', () => {
  test('that throws is told to the process by Node, and nobody else is kept from hearing', async () => {
    const { stage, process } = setup();
    const leases = await Promise.all(
      ['a', 'b', 'c'].map((name) => process.lock(name).acquire({ leaseMs: 600 })),
    );
    const heard: string[] = [];
    for (const { name, signal } of leases) {
      signal.addEventListener('abort', fault);
      signal.addEventListener('abort', () => heard.push(name));
    }
    process.client.from('lock.renew', hangs());
    const uncaught = await uncaughtDuring(() => stage.clock.advance(600));
    expect(uncaught).toEqual([FAULT, FAULT, FAULT]);
    expect(heard.toSorted()).toEqual(['a', 'b', 'c']);
    expect([process.session.holds, leases.some(({ isHeld }) => isHeld)]).toEqual([0, false]);
  });

  test('that throws does not keep the next caller of this process from being served', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: 600 });
    lease.signal.addEventListener('abort', fault);
    const next = process.lock('a').acquire();
    stage.server.delete('a');
    const uncaught = await uncaughtDuring(async () => {
      expect((await stage.until(next)).isHeld).toBe(true);
    });
    expect(uncaught).toEqual([FAULT]);
  });

  test('that throws does not stop the renewal of the other leases', async () => {
    const { stage, process } = setup();
    const [bad, good] = await Promise.all(
      ['a', 'b'].map((name) => process.lock(name).acquire({ leaseMs: 600 })),
    );
    bad?.signal.addEventListener('abort', fault);
    stage.server.delete('a');
    const uncaught = await uncaughtDuring(() => stage.clock.advance(6_000));
    expect(uncaught).toEqual([FAULT]);
    expect([good?.isHeld, bad?.isHeld]).toEqual([true, false]);
  });

  test('sees everything settled: the lease is not held, and what it asks for is answered so', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: 600 });
    const inner = await process.lock('a').acquire({ within: lease });
    const seen: unknown[] = [];
    lease.signal.addEventListener('abort', () => {
      seen.push(lease.isHeld, inner.isHeld, lease.remainingMs, process.session.holds);
      seen.push(
        lease.release(),
        lease.extend(500).catch((error) => error.code),
      );
    });
    stage.server.delete('a');
    await stage.clock.advance(600);
    expect(await Promise.all(seen)).toEqual([false, false, 0, 0, false, 'ELOCKLOST']);
  });

  test('may acquire the same lock again, and queues behind those who wait', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const lease = await lock.acquire({ leaseMs: 600 });
    const order: string[] = [];
    const turn = (name: string) => lock.using(async () => void order.push(name));
    let again: Promise<void> | undefined;
    lease.signal.addEventListener('abort', () => {
      again = turn('from the listener');
    });
    const waiting = turn('waited');
    stage.server.delete('a');
    await stage.until(waiting);
    await stage.until(again ?? Promise.reject(new Error('the listener did not run')));
    expect(order).toEqual(['waited', 'from the listener']);
  });

  test('runs before anything is sent that could let somebody else in', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: 600, renew: false });
    let releases = -1;
    lease.signal.addEventListener('abort', () => {
      releases = process.client.sent('lock.release').length;
    });
    await stage.clock.advance(600);
    expect([releases, process.client.sent('lock.release').length]).toEqual([0, 1]);
  });

  test('that is asked for only after the loss finds the signal aborted', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: 600, renew: false });
    await stage.clock.advance(600);
    expect(lease.signal.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'expired' });
  });
});

describe('rule 11: a subscriber of a channel', () => {
  test.each([CHANNELS.lost, CHANNELS.lateRelease, CHANNELS.woken])(
    'that throws on %s hurts nobody',
    async (name) => {
      const { stage, process } = setup();
      const other = stage.process();
      subscribe(name, fault);
      const uncaught = await uncaughtDuring(async () => {
        const lease = await process.lock('a').acquire({ leaseMs: 600, renew: false });
        const { signal } = lease;
        const waiting = other.lock('a').acquire();
        expect((await stage.until(waiting)).isHeld).toBe(true);
        expect(signal.aborted).toBe(true);
        await stage.clock.settle();
      }).finally(() => unsubscribe(name, fault));
      expect(uncaught.length).toBeGreaterThan(0);
      expect(new Set(uncaught)).toEqual(new Set([FAULT]));
    },
  );

  test.each([
    ['releases', async (lease: Lease): Promise<void> => void (await lease.release())],
    ['extends', (lease: Lease) => lease.extend(1_200)],
  ] as const)(
    'that %s a lease of the next batch when one is renewed leaves the others renewed',
    async (_, act) => {
      const { stage, process } = setup();
      const first = await process.lock('a').acquire({ leaseMs: 600 });
      const second = await process.mutex('b').acquire({ leaseMs: 600 });
      const third = await process.mutex('c').acquire({ leaseMs: 600 });
      let acted: Promise<void> | undefined;
      const start = (): void => {
        acted ??= act(second);
      };
      subscribe(`tracing:${CHANNELS.renew}:start`, start);
      try {
        await stage.clock.advance(6_000);
      } finally {
        unsubscribe(`tracing:${CHANNELS.renew}:start`, start);
      }
      await acted;
      expect([first.isHeld, third.isHeld]).toEqual([true, true]);
    },
  );

  test('that closes the session when a lease was abandoned finds what is due settled', async () => {
    const { stage, process } = setup();
    const held = await Promise.all(['a', 'b'].map((name) => process.lock(name).acquire({ leaseMs: 600 })));
    const signals = held.map(({ signal }) => signal);
    const unreachable = vi.spyOn(Owner.prototype, 'isAbandoned').mockReturnValue(true);
    let closing: Promise<void> | undefined;
    const abandoned = (): void => {
      closing ??= process.session.close(0);
    };
    subscribe(CHANNELS.abandoned, abandoned);
    try {
      await stage.clock.advance(600);
    } finally {
      unsubscribe(CHANNELS.abandoned, abandoned);
      unreachable.mockRestore();
    }
    await closing;
    expect(signals.map(({ reason }) => reason.reason)).toEqual(['closed', 'closed']);
    expect([process.timers.size, stage.server.keys]).toEqual([0, []]);
  });
});
