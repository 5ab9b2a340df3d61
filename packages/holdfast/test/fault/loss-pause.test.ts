/** An owner that could not look at the clock for longer than its lease: stopped, blocked, or asleep with its machine. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { LockLostError } from '../../src/index.ts';
import { startChild, useChildren } from '../support/child.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { ask } from '../support/raw-redis.ts';
import { useRedis } from '../support/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { MATRIX, rejection, useBench } from './acquire-support.ts';
import type { ChildLine, ChildOrder } from './holder-support-child.ts';
import { FencedResource } from './holder-support-resource.ts';

const LEASE_MS = 1_000;

const server = useRedis();
useLeakCheck(server);
const bench = useBench();
useChildren();

const startHolder = (order: Partial<ChildOrder> & Pick<ChildOrder, 'task' | 'name'>) => {
  const whole: ChildOrder = { client: 'ioredis', port: server.port, leaseMs: LEASE_MS, ...order };
  return startChild<ChildLine>('test/fault/holder-support-child.ts', [JSON.stringify(whole)]);
};

/** Nothing else runs on this thread meanwhile. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

async function untilGone(key: string): Promise<void> {
  await waitFor(async () => (await ask(server.port, ['EXISTS', key])) === 0, { what: `${key} to expire` });
}

test.each(MATRIX)('a blocked event loop: a $subject.kind on $client is not held in the next statement, its signal aborts in the next turn', async ({
  client,
  subject,
}) => {
  const lock = subject.of(await bench.session(server.port, { client }), bench.name());
  const lease = await lock.acquire({ leaseMs: 300 });
  const { signal } = lease;
  block(300);
  expect(lease.isHeld).toBe(false);
  expect(lease.remainingMs).toBe(0);
  expect(signal.aborted).toBe(false);
  await nextTurn();
  await nextTurn();
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'expired' });
  expect(await lease.release()).toBe(false);
});

test.each(MATRIX)('a blocked event loop: a $subject.kind on $client that is released before the loop turned was not ours any more', async ({
  client,
  subject,
}) => {
  const lock = subject.of(await bench.session(server.port, { client }), bench.name());
  const lease = await lock.acquire({ leaseMs: 300 });
  const aborted = new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
  block(300);
  const beforeMs = performance.now();
  expect(await lease.release()).toBe(false);
  // By what this process knows, without a round trip.
  expect(performance.now() - beforeMs).toBeLessThan(50);
  await aborted;
  expect(await rejection(lease.extend(300))).toBeInstanceOf(LockLostError);
});

test.each(MATRIX)('a blocked event loop: a $subject.kind on $client whose body blocked makes `using` reject with what the body did', async ({
  client,
  subject,
}) => {
  const lock = subject.of(await bench.session(server.port, { client }), bench.name());
  const error = await rejection(
    lock.using(
      () => {
        block(300);
        return 'the result';
      },
      { leaseMs: 300 },
    ),
  );
  expect(error).toMatchObject({
    code: 'ELOCKLOST',
    reason: 'expired',
    outcome: { status: 'fulfilled', value: 'the result' },
  });
});

test.each(['ioredis', 'node-redis'] as const)(
  'an owner that is stopped past its lease finds it lost in its first statement, and the resource refuses its late write (%s)',
  async (client) => {
    const name = bench.name();
    const resource = new FencedResource(server.port, `${name}:resource`);
    const child = startHolder({ task: 'pauseBusy', client, name, resource: `${name}:resource` });
    const { fence = 0 } = await child.next(({ is }) => is === 'held');
    expect(await resource.write(fence, 'from the first owner')).toBe(true);

    const stoppedMs = performance.now();
    child.stop();
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
  },
);

test.each(['ioredis', 'node-redis'] as const)(
  'an owner that is stopped while it waits finds its lease lost in the first thing that runs, and is told (%s)',
  async (client) => {
    const name = bench.name();
    const child = startHolder({ task: 'pauseIdle', client, name });
    await child.next(({ is }) => is === 'held');
    const stoppedMs = performance.now();
    child.stop();
    await untilGone(name);
    await waitFor(() => performance.now() - stoppedMs > LEASE_MS, { what: 'a pause of a lease' });
    child.cont();
    const lines = [await child.next(({ is }) => is === 'woken'), await child.next(({ is }) => is === 'lost')];
    expect(lines.map(({ isHeld }) => isHeld)).toEqual([false, false]);
    expect(await child.exited).toEqual({ code: 0, signal: null });
  },
);
