/** Extensions that meet a frozen server, a cut connection or a lost answer: a held lock stays held, and stays there. */
import { expect, test } from 'vitest';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held, untilFree } from '../../support/locks/held.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { acquireWatched, driftMs, openRows, type Row, type WatchedLease } from '../holder/support.ts';

/** Long enough for an extension to be given up, after half of it, and for a renewal afterwards. */
const LEASE_MS = 8_000;

const server = useRedis();
useLeakCheck(server);
const bench = useBench();

interface Scene extends Row {
  readonly watched: WatchedLease;
}

async function hold(renew: boolean): Promise<Scene[]> {
  const rows = await openRows(bench, server.port);
  return await Promise.all(
    rows.map(async (row) => ({
      ...row,
      watched: await acquireWatched(bench, row.lock, { leaseMs: LEASE_MS, renew }),
    })),
  );
}

/** Held, by this process and on the server, and released as ours. */
async function expectKept({ watched, kind, lock, label }: Scene): Promise<void> {
  expect(watched.told, label).toBe(null);
  expect(watched.lease.isHeld, label).toBe(true);
  expect((await held(server.port, kind, lock.name))?.ttlMs, label).toBeGreaterThan(0);
  expect(await watched.lease.release(), label).toBe(true);
}

test('an extension that a frozen server does not answer fails, and the lock is held on', async () => {
  const scenes = await hold(true);
  server.freeze();
  await Promise.all(
    scenes.map(async ({ watched, label }) => {
      const { deadlineMs, deadlineFromMs } = watched;
      expect(await rejection(watched.lease.extend(30_000)), label).toMatchObject({ code: 'ELOCKUNKNOWN' });
      // Neither shortened nor lengthened by the failure: still until the old deadline.
      const beforeMs = performance.now();
      const { remainingMs } = watched.lease;
      expect(performance.now() + remainingMs, label).toBeGreaterThanOrEqual(deadlineFromMs);
      expect(beforeMs + remainingMs, label).toBeLessThanOrEqual(deadlineMs);
    }),
  );
  server.resume();
  const renewals = scenes.map(({ watched }) => watched.renewals);
  await waitFor(() => scenes.every(({ watched }, i) => watched.renewals > (renewals[i] ?? 0)), {
    what: 'renewals',
  });
  await Promise.all(scenes.map(expectKept));
});

test('an extension that finds the network cut fails, and the lock is held on', async () => {
  await Promise.all(
    (await hold(true)).map(async (scene) => {
      const { proxy, watched, label } = scene;
      proxy.refuse();
      proxy.cutAll();
      await waitFor(() => proxy.connections === 0, { what: 'no connection' });
      const error = await rejection(watched.lease.extend(30_000));
      // Whether it was written depends on whether the client had noticed.
      expect(['ELOCKUNAVAILABLE', 'ELOCKUNKNOWN'], label).toContain((error as { code?: unknown }).code);
      expect(watched.lease.isHeld, label).toBe(true);
      await proxy.accept();
      const { renewals } = watched;
      await waitFor(() => watched.renewals > renewals, { what: 'a renewal' });
      await expectKept(scene);
    }),
  );
});

test('an extension that happened without an answer leaves a fixed lease to its old deadline, and the longer one is not left behind', async () => {
  await Promise.all(
    (await hold(false)).map(async ({ proxy, kind, lock, watched, label }) => {
      const cut = proxy.cutAfterRequest(kind.renews);
      expect(await rejection(watched.lease.extend(60_000)), label).toMatchObject({ code: 'ELOCKUNKNOWN' });
      await cut;
      expect((await held(server.port, kind, lock.name))?.ttlMs, label).toBeGreaterThan(50_000);
      await watched.lost();
      watched.expectToldInTime(label);
      watched.expectNotToldEarly(label);
      // The server would have kept it for a minute for somebody who does not claim it.
      await untilFree(server.port, kind, lock.name);
    }),
  );
});

test('an extension that shortens a fixed lease and happened without an answer ends it at the shorter deadline', async () => {
  const shortMs = 1_000;
  await Promise.all(
    (await hold(false)).map(async ({ proxy, kind, lock, watched, label }) => {
      const cut = proxy.cutAfterRequest(kind.renews);
      const afterMs = performance.now();
      const extending = rejection(watched.lease.extend(shortMs));
      watched.mayHaveStated(shortMs, { afterMs, beforeMs: performance.now() });
      expect(watched.lease.remainingMs, label).toBeLessThanOrEqual(shortMs - driftMs(shortMs));
      await cut;
      expect(await extending, label).toMatchObject({ code: 'ELOCKUNKNOWN' });
      await watched.lost();
      watched.expectToldInTime(label);
      watched.expectNotToldEarly(label);
      await untilFree(server.port, kind, lock.name);
    }),
  );
});

test('an extension that shortens and arrives when it was given up takes nothing from what was renewed since', async () => {
  await Promise.all(
    (await hold(true)).map(async ({ proxy, kind, lock, watched, label }) => {
      const cut = proxy.cutBeforeRequest(kind.renews);
      expect(await rejection(watched.lease.extend(LEASE_MS / 2)), label).toMatchObject({
        code: 'ELOCKUNKNOWN',
      });
      const stray = await cut;
      const { renewals } = watched;
      await waitFor(() => watched.renewals > renewals, { what: 'a renewal' });
      // The network gives back what it had lost: the same request, on a connection that nobody listens to any more.
      expect(await ask(server.port, stray), label).toEqual([expect.any(Number)]);
      const claimedUntilMs = performance.now() + watched.lease.remainingMs;
      const { ttlMs = 0 } = (await held(server.port, kind, lock.name)) ?? {};
      expect(performance.now() + ttlMs, label).toBeGreaterThan(claimedUntilMs);
      expect(await watched.lease.release(), label).toBe(true);
    }),
  );
});
