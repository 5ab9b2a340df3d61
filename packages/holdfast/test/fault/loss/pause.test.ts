/** An owner that could not look at the clock for longer than its lease: stopped, blocked, or asleep with its machine. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { LockLostError } from '../../../src/index.ts';
import { CLIENTS, type ClientKind, useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { useChildren } from '../../support/processes/child.ts';
import { atOnce, rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { SLOW, startHolder } from '../holder/process.ts';
import { FencedResource } from '../holder/resource.ts';
import { openRows } from '../holder/support.ts';

const LEASE_MS = 1_500;

const server = useRedis();
useLeakCheck(server);
const bench = useBench();
useChildren();

/** Nothing else runs on this thread meanwhile. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('when the event loop is blocked past the lease', () => {
  const leaseMs = 300;

  test('the owner finds the lease lost in its next statement, and its signal aborts in the next turn', async () => {
    for (const { lock, label } of await openRows(bench, server.port)) {
      const lease = await lock.acquire({ leaseMs });
      const { signal } = lease;
      block(leaseMs);
      expect([lease.isHeld, lease.remainingMs, signal.aborted], label).toEqual([false, 0, false]);
      // The turn of the loop that this one is part of may have had its timers already.
      await nextTurn();
      await nextTurn();
      expect(signal.aborted, label).toBe(true);
      expect(signal.reason, label).toMatchObject({ code: 'ELOCKLOST', reason: 'expired' });
      expect(await lease.release(), label).toBe(false);
    }
  });

  test('a release before the loop has turned says that it was not ours any more, and the signal aborts', async () => {
    for (const { lock, label } of await openRows(bench, server.port)) {
      const lease = await lock.acquire({ leaseMs });
      const { signal } = lease;
      block(leaseMs);
      // By what this process knows, without a round trip.
      expect(await atOnce(lease.release()), label).toBe(false);
      expect(signal.aborted, label).toBe(true);
      expect(await rejection(lease.extend(leaseMs)), label).toBeInstanceOf(LockLostError);
    }
  });

  test('`using` whose body blocked rejects with the loss and what the body did', async () => {
    for (const { lock, label } of await openRows(bench, server.port)) {
      const body = (): string => {
        block(leaseMs);
        return 'the result';
      };
      expect(await rejection(lock.using(body, { leaseMs })), label).toMatchObject({
        code: 'ELOCKLOST',
        reason: 'expired',
        outcome: { status: 'fulfilled', value: 'the result' },
      });
    }
  });
});

describe('when the process is stopped past the lease', SLOW, () => {
  async function expectRefused(client: ClientKind): Promise<void> {
    const name = bench.name();
    const resource = new FencedResource(server.port, `${name}:resource`);
    const order = { task: 'pauseBusy', port: server.port, leaseMs: LEASE_MS, client, name } as const;
    const { child, held } = await startHolder({ ...order, resource: `${name}:resource` });
    const { fence = 0 } = held;
    await child.next(({ is }) => is === 'ready');
    child.stop();
    const stoppedMs = performance.now();
    expect(await resource.write(fence, 'from the first owner')).toBe(true);

    const rival = (await bench.session(server.port)).lock(name);
    const lease = await rival.acquire({ waitMs: 10_000 });
    expect(lease.fence).toBeGreaterThan(fence);
    expect(await resource.write(lease.fence, 'from the second owner')).toBe(true);
    // For as long as the child takes for a pause, also when the key was about to expire anyway.
    await waitFor(() => performance.now() - stoppedMs > LEASE_MS, { what: 'a pause of a lease' });
    child.cont();

    expect(await child.next(({ is }) => is === 'woken')).toMatchObject({ isHeld: false });
    expect(await child.next(({ is }) => is === 'turned')).toMatchObject({ isAborted: true, isHeld: false });
    expect(await child.next(({ is }) => is === 'wrote')).toMatchObject({ isTaken: false });
    expect(await child.next(({ is }) => is === 'end')).toMatchObject({ wasOurs: false });
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(await resource.read()).toBe('from the second owner');
    // The one who woke up has left the second owner's key alone.
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe(true);
    await resource.remove();
  }

  test('the owner finds the lease lost in its first statement, is told, and the resource refuses its late write', async () => {
    await Promise.all(CLIENTS.map(expectRefused));
  });

  test('an owner that waited for something finds the lease lost in the first thing that runs, and is told', async () => {
    const name = bench.name();
    const order = {
      task: 'pauseIdle',
      port: server.port,
      leaseMs: LEASE_MS,
      client: 'node-redis',
      name,
    } as const;
    const { child } = await startHolder(order);
    await child.next(({ is }) => is === 'ready');
    child.stop();
    const stoppedMs = performance.now();
    await waitFor(async () => (await ask(server.port, ['EXISTS', name])) === 0, {
      what: 'its key to expire',
    });
    await waitFor(() => performance.now() - stoppedMs > LEASE_MS, { what: 'a pause of a lease' });
    child.cont();
    const lines = [await child.next(({ is }) => is === 'woken'), await child.next(({ is }) => is === 'lost')];
    expect(lines.map(({ isHeld }) => isHeld)).toEqual([false, false]);
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });
});
