/**
 * A vote that was asked for on a connection that is lost by now, and whose request still arrives: behind the release of
 * what it was asked for. It carries a time after which it must not be granted, but may arrive before that.
 */
import { expect, test } from 'vitest';
import type { Locks } from '../../../src/index.ts';
import { lockRelease, mutexRelease } from '../../../src/scripts/generated.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS, type Kind } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { waitFor } from '../../support/wait-for.ts';
import { useQuorumBench, useServers } from './support.ts';

const servers = useServers(5);
useLeakCheck(servers, { ignoreKeys: [/redisson_lock_token:/, /^foreign/] });
const quorum = useQuorumBench(servers);

/** Long against everything that happens here: a vote that is gone was removed, not expired. */
const LEASE_MS = 60_000;

/** A session whose way to the first server can be cut on our side only. */
async function relayed(kind: Kind, name: string) {
  const inner = await quorum.bench.proxy(quorum.server(0).port);
  const outer = await quorum.bench.proxy(inner.port);
  const ways = [outer, ...quorum.servers.slice(1)];
  const locks = await quorum.assembled(kind, { leaseMs: LEASE_MS, nodeTimeoutMs: 2_000 }, ways);
  const asks = (args: readonly string[]): boolean => kind.acquires(args) && args.includes(name);
  return {
    locks,
    /** From here its next request for that name is on its way for half a second, and loses its connection at once. */
    strand: async (): Promise<void> => {
      inner.delay(500);
      // Read by the second proxy: what still lies in a socket may be lost with its connection.
      await waitFor(() => inner.received.some(asks), { what: 'the request to be under way' });
      inner.delay(0);
      outer.cutAll();
    },
    arrived: () => waitFor(() => inner.history.some(asks), { what: 'the stranded request to arrive' }),
  };
}

/**
 * Resolves when the first server has voted for a name of the session and the name is free again, however often a busy
 * machine lets it miss one.
 */
async function voted(kind: Kind, locks: Locks): Promise<void> {
  const names: string[] = [];
  const vote = async (): Promise<boolean> => {
    const name = quorum.name();
    names.push(name);
    await using _lease = await kind.of(locks, name).acquire();
    return await waitFor(async () => (await quorum.votes(kind, name))[0] !== null, { limitMs: 2_000 });
  };
  await waitFor(vote, { limitMs: 60_000, what: 'the far vote' });
  for (const name of names) await quorum.untilFree(kind, name);
}

test.each(KINDS)('a stranded vote for a $name that was not won leaves nothing behind', async (kind) => {
  const name = `foreign ${quorum.name()}`;
  const { locks, strand, arrived } = await relayed(kind, name);
  await quorum.take(kind, name, [1, 2, 3, 4]);
  const [lease] = await Promise.all([kind.of(locks, name).tryAcquire(), strand()]);
  expect(lease).toBeNull();
  await arrived();
  await waitFor(async () => (await quorum.votes(kind, name))[0] === null);
  expect((await quorum.votes(kind, name))[1]).toBe(kind.foreignOwner);
});

test.each(KINDS)(
  'a stranded vote for a $name that was held and released leaves nothing behind',
  async (kind) => {
    const name = quorum.name();
    const { locks, strand, arrived } = await relayed(kind, name);
    const [lease] = await Promise.all([kind.of(locks, name).acquire(), strand()]);
    expect(await lease.release()).toBe(true);
    await arrived();
    await quorum.untilFree(kind, name);
  },
);

test.each(KINDS)('a stranded vote for a $name whose owner loses it leaves nothing behind', async (kind) => {
  const name = quorum.name();
  const { locks, strand, arrived } = await relayed(kind, name);
  const [lease] = await Promise.all([kind.of(locks, name).acquire(), strand()]);
  await quorum.remove(name, [1, 2, 3, 4]);
  await rejection(lease.extend(LEASE_MS));
  await arrived();
  await quorum.untilFree(kind, name);
});

test.each(KINDS)(
  'a vote for a $name that is asked for by a script the server does not know leaves nothing behind its release',
  async (kind) => {
    const far = await quorum.bench.proxy(quorum.server(0).port);
    const locks = await quorum.assembled(kind, { leaseMs: LEASE_MS }, [far, ...quorum.servers.slice(1)]);
    // It knows how to release and not how to grant: the request for the vote is refused, behind it is the release.
    const { port } = quorum.server(0);
    await ask(port, ['SCRIPT', 'FLUSH']);
    await ask(port, [
      'SCRIPT',
      'LOAD',
      kind.name === 'lock' ? lockRelease.text.source : mutexRelease.text.source,
    ]);
    far.delay(60);
    const name = quorum.name();
    expect(await (await kind.of(locks, name).acquire()).release()).toBe(true);
    // What was sent to it by now has been answered once a later request has been, and again what that led to.
    for (let i = 0; i < 2; i += 1) await voted(kind, locks);
    expect((await quorum.votes(kind, name))[0]).toBeNull();
  },
);
