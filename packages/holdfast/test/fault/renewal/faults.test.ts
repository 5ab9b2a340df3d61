/**
 * Renewals that fail on the way to a real server and back. Only an answer moves a deadline, only time or a clear
 * "not yours" ends a lease; and a renewal that comes late brings nothing back.
 */
import { expect, test } from 'vitest';
import type { StateResult } from '../../../src/topologies/topology.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held } from '../../support/locks/held.ts';
import type { Match } from '../../support/proxies/fault-proxy.ts';
import { commandCounts, monitor, type SeenCommand } from '../../support/servers/commands.ts';
import { RawConnection } from '../../support/servers/raw-connection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { acquireWatched, openRows, type Row, type WatchedLease } from '../holder/support.ts';

/** Long against the pauses of a busy machine: four seconds of silence do not cost a lease. */
const LEASE_MS = 6_000;

/** What would make or prolong a lock. */
const WRITE = /^(hset|hsetnx|hincrby|set|psetex|pexpire)$/i;

const server = useRedis();
useLeakCheck(server);
const bench = useBench();

interface Scene extends Row {
  readonly watched: WatchedLease;
}

/** An owner for every client and kind. */
async function hold(leaseMs = LEASE_MS): Promise<Scene[]> {
  const rows = await openRows(bench, server.port);
  return await Promise.all(
    rows.map(async (row) => ({ ...row, watched: await acquireWatched(bench, row.lock, { leaseMs }) })),
  );
}

/** The same for each of them, all at once. */
async function forEach(scenes: readonly Scene[], body: (scene: Scene) => Promise<void>): Promise<void> {
  await Promise.all(scenes.map(body));
}

async function expectKept({ watched, kind, lock, label }: Scene): Promise<void> {
  expect(watched.told, label).toBe(null);
  expect(watched.lease.isHeld, label).toBe(true);
  expect((await held(server.port, kind, lock.name))?.ttlMs, label).toBeGreaterThan(0);
  expect(await watched.lease.release(), label).toBe(true);
}

/** More renewals than it takes to outlive what was left of the lease when the fault came. */
async function outliveIt({ watched, label }: Scene): Promise<void> {
  const { renewals } = watched;
  await waitFor(() => watched.renewals >= renewals + 3, { what: `three more renewals of the ${label}` });
}

test('a renewal that happened and whose answer was lost is followed by one that gets through', async () => {
  await forEach(await hold(), async (scene) => {
    await scene.proxy.cutAfterRequest(scene.kind.renews);
    await outliveIt(scene);
    await expectKept(scene);
  });
});

test('renewals that were cut off on the way are repeated while time remains', async () => {
  await forEach(await hold(), async (scene) => {
    await scene.proxy.cutBeforeRequest(scene.kind.renews, 2);
    await outliveIt(scene);
    await expectKept(scene);
  });
});

test('renewals that the server refuses for a while are repeated while time remains', async () => {
  interface Ended {
    readonly locks: readonly string[];
    readonly result?: readonly StateResult[];
  }
  const renewals = bench.diagnostics<Ended>('tracing:holdfast:renew:asyncEnd');
  const hasFailed = ({ lock }: Scene) =>
    renewals.some(({ locks, result }) => result?.[locks.indexOf(lock.name)]?.is === 'failed');
  await ask(server.port, ['CONFIG', 'SET', 'busy-reply-threshold', '5']);
  const scenes = await hold();
  const busy = new RawConnection(server.port);
  busy.send(['EVAL', 'while true do end', '0']);
  try {
    await waitFor(() => scenes.every(hasFailed), { what: 'every renewal to be refused' });
  } finally {
    await ask(server.port, ['SCRIPT', 'KILL']);
    busy.close();
  }
  await forEach(scenes, async (scene) => {
    await outliveIt(scene);
    await expectKept(scene);
  });
});

test('when the server refuses every renewal the lease is lost at its deadline', async () => {
  const scenes = await hold();
  await waitFor(() => scenes.every(({ watched }) => watched.renewals > 0), { what: 'renewals' });
  await ask(server.port, ['ACL', 'SETUSER', 'default', '-evalsha', '-eval']);
  try {
    await forEach(scenes, async ({ watched }) => void (await watched.lost()));
  } finally {
    await ask(server.port, ['ACL', 'SETUSER', 'default', '+evalsha', '+eval']);
  }
  for (const { watched, label } of scenes) {
    expect(watched.told?.reason, label).toBe('expired');
    watched.expectToldInTime(label);
    watched.expectNotToldEarly(label);
  }
});

test('a renewal that comes when another owner was there and left does not bring the lock back', async () => {
  const rivals = await bench.session(server.port);
  const scenes = await hold();
  await forEach(scenes, async ({ proxy, kind, lock, watched, label }) => {
    // Whatever is sent from here on waits in the network.
    proxy.freeze();
    const rival = await kind.of(rivals, lock.name).acquire({ waitMs: 20_000 });
    expect(watched.told, `${label}: told before the next owner was`).not.toBe(null);
    await rival.release();
    proxy.clearHistory();
  });
  const watch = await monitor(server);
  await forEach(scenes, async ({ proxy, kind, lock, label }) => {
    const isOurs = ({ args }: SeenCommand) => args.includes(lock.name);
    proxy.thaw();
    const seen = await waitFor(
      async () => {
        const commands = (await watch.commands()).filter(isOurs);
        const ran = (match: Match) => commands.some(({ args }) => match(args));
        return ran(kind.renews) && ran(kind.releases) && commands;
      },
      { what: 'the server to run what had piled up' },
    );
    // Looked at command by command: a key that a late renewal made would be gone again with the late release.
    const writes = seen.filter(({ client, args }) => client === 'lua' && WRITE.test(args[0] ?? ''));
    expect(writes, label).toEqual([]);
    expect(await held(server.port, kind, lock.name), label).toBe(null);
  });
  watch.stop();
});

test('a connection that goes dead under an extension is replaced, and the extension fails', async () => {
  await forEach(await hold(9_000), async (scene) => {
    const muted = scene.proxy.dropReply(scene.kind.renews);
    await expect(scene.watched.lease.extend(9_000)).rejects.toMatchObject({ code: 'ELOCKUNKNOWN' });
    await muted;
    const { renewals } = scene.watched;
    await waitFor(() => scene.watched.renewals > renewals, { what: 'a renewal', limitMs: 10_000 });
    await expectKept(scene);
  });
});

test('forgotten scripts are loaded again, unnoticed by owner and waiter', async () => {
  const rivals = await bench.session(server.port);
  const flush = () => ask(server.port, ['SCRIPT', 'FLUSH']);
  await forEach(await hold(), async ({ kind, lock, watched, label }) => {
    const waiting = kind.of(rivals, lock.name).acquire({ waitMs: 20_000 });
    const { renewals } = watched;
    for (let round = 1; round <= 2; round += 1) {
      await flush();
      await waitFor(() => watched.renewals >= renewals + round, { what: 'a renewal' });
    }
    await flush();
    await watched.lease.extend(LEASE_MS);
    await flush();
    expect(await watched.lease.release(), label).toBe(true);
    expect(watched.told, label).toBe(null);
    await flush();
    const lease = await waiting;
    await flush();
    expect(await lease.release(), label).toBe(true);
  });
});

test('a forgotten script costs one command more, and its next call none', async () => {
  const lock = (await bench.session(server.port)).lock(bench.name());
  await (await lock.acquire()).release();
  await ask(server.port, ['SCRIPT', 'FLUSH']);
  const counts = await commandCounts(server);
  const lease = await lock.acquire();
  for (let i = 0; i < 3; i += 1) await lease.extend(30_000);
  await lease.release();
  // Five calls of three scripts, each of which was sent as a whole once.
  expect(await counts.delta()).toMatchObject({ evalsha: 5, eval: 3 });
});
