/** After a release there is silence: nothing is sent, nothing is planned, and the process is free to go. */
import { describe, expect, test } from 'vitest';
import { CHANNELS, Locks } from '../../../src/index.ts';
import { CLIENTS, useBench } from '../../support/bench.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS } from '../../support/locks/kind.ts';
import { useChildren } from '../../support/processes/child.ts';
import { monitor } from '../../support/servers/commands.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { ScriptedNode } from '../holder/node.ts';
import { SLOW, startHolder } from '../holder/process.ts';
import { openRows } from '../holder/support.ts';

const LEASE_MS = 500;
/** On a real server: it must not run out while this machine stalls. */
const REAL_MS = 4_500;

const server = useRedis();
useLeakCheck(server);
const bench = useBench();
useChildren();

test('nothing is sent for longer than a lease after a release, not even when a renewal was under way', async () => {
  const told: string[] = [];
  const rows = await openRows(bench, server.port);
  await Promise.all(
    rows.map(async ({ kind, lock, proxy, label }) => {
      const lease = await lock.acquire({ leaseMs: REAL_MS });
      lease.signal.addEventListener('abort', () => told.push(label));
      // Its answer is on the way back when the release is sent.
      await proxy.delayReply(kind.renews, 50);
      expect(await lease.release()).toBe(true);
    }),
  );
  const watch = await monitor(server);
  const beforeMs = performance.now();
  await waitFor(() => performance.now() - beforeMs > 1.2 * REAL_MS, { what: 'more than a lease' });
  expect(await watch.commands()).toEqual([]);
  watch.stop();
  expect(told).toEqual([]);
});

describe.each(KINDS)('after the release of a $name', (kind) => {
  test('no timer is left, and none of those that were keeps the process', async () => {
    const clock = new FakeClock();
    const node = new ScriptedNode(clock);
    const locks = new Locks(node, { application: false, clock });
    const leases = await Promise.all(
      ['a', 'b'].map((name) => kind.of(locks, name).acquire({ leaseMs: LEASE_MS })),
    );
    await clock.advance(10 * LEASE_MS);
    expect(clock.refdTimers, 'a held lease keeps nobody').toBe(0);
    const abandoned = bench.diagnostics(CHANNELS.abandoned);
    for (const lease of leases) expect(await lease.release()).toBe(true);
    const calls = node.calls.length;
    expect(clock.refdTimers).toBe(0);
    await clock.advance(3 * LEASE_MS);
    expect(clock.pendingTimers).toBe(0);
    expect(node.calls.length).toBe(calls);
    // Nor were they looked at again: a renewal that finds nobody behind a hold says so.
    expect(abandoned).toEqual([]);
  });

  test('no timer is left of one that was lost', async () => {
    const clock = new FakeClock();
    const node = new ScriptedNode(clock);
    const lease = await kind
      .of(new Locks(node, { application: false, clock }), 'a')
      .acquire({ leaseMs: LEASE_MS });
    node.delete('a');
    await clock.advance(LEASE_MS);
    expect(lease.signal.aborted).toBe(true);
    expect(clock.refdTimers).toBe(0);
    const calls = node.calls.length;
    await clock.advance(10 * LEASE_MS);
    expect(clock.pendingTimers).toBe(0);
    expect(node.calls.length).toBe(calls);
  });
});

test('a process exits at once after the scope ends', SLOW, async () => {
  await Promise.all(
    CLIENTS.map(async (client) => {
      const order = { task: 'leave', port: server.port, leaseMs: 30_000 } as const;
      const { child } = await startHolder({ ...order, client, name: bench.name() });
      child.send('go on');
      expect(await child.next(({ is }) => is === 'done')).toMatchObject({ text: 'the result' });
      expect(await child.exited).toEqual({ code: 0, signal: null });
      const { aborts, livedOnMs } = await child.next(({ is }) => is === 'end');
      // Below the lease, its renewal, and the patience with a silent connection.
      expect(livedOnMs).toBeLessThan(4_000);
      expect(aborts).toBe(0);
    }),
  );
});

test(
  'a process exits soon after the scope ends although nothing is answered any more, and hears of no loss',
  SLOW,
  async () => {
    await Promise.all(
      CLIENTS.map(async (client) => {
        const proxy = await bench.proxy(server.port);
        const order = { task: 'leave', port: proxy.port, leaseMs: 30_000, callTimeoutMs: 1_000 } as const;
        const { name, child } = await startHolder({ ...order, client, name: bench.name() });
        proxy.freeze();
        child.send('go on');
        // The release gets no answer, which says nothing about the body.
        expect(await child.next(({ is }) => is === 'done')).toMatchObject({ text: 'the result' });
        expect(await child.exited).toEqual({ code: 0, signal: null });
        const { aborts, livedOnMs } = await child.next(({ is }) => is === 'end');
        expect(livedOnMs).toBeLessThan(8_000);
        expect(aborts).toBe(0);
        proxy.thaw();
        // The release was on its way; it takes effect when the network does.
        await waitFor(async () => (await ask(server.port, ['EXISTS', name])) === 0, {
          what: 'the late release',
        });
      }),
    );
  },
);
