/** One attempt on five servers: who is asked, when it is decided, what is left of it. */
import { describe, expect, test } from 'vitest';
import { LockUnavailableError } from '../../../src/index.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS, LOCK, MUTEX } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { steady } from '../../support/steady.ts';
import { waitFor } from '../../support/wait-for.ts';
import { timed, useQuorumBench, useServers } from './support.ts';

const servers = useServers(5);
useLeakCheck(servers, { ignoreKeys: [/redisson_lock_token:/, /^foreign/] });
const quorum = useQuorumBench(servers);
const STEADY = steady();

const DELAY_MS = 300;
/** Of a server that is to be waited for in vain: longer than any test. */
const PATIENT = { nodeTimeoutMs: 60_000, callTimeoutMs: 60_000 };
/** Long before that, and long against what a machine stalls. */
const SOON_MS = 15_000;

describe.each(KINDS)('a $name', STEADY, (kind) => {
  test('is asked for on all servers at once', async () => {
    const proxies = await quorum.proxies();
    const locks = await quorum.assembled(kind, PATIENT, proxies);
    const name = quorum.name();
    const isAsked = (args: readonly string[]): boolean => kind.acquires(args) && args.includes(name);
    const asked = proxies.map((proxy) => proxy.delayReply(isAsked, PATIENT.nodeTimeoutMs));
    let isWon = false;
    const acquiring = kind.of(locks, name).acquire();
    const won = acquiring.then(() => {
      isWon = true;
    });
    // Each has been asked, and none of their answers has come.
    await Promise.all(asked);
    expect(isWon).toBe(false);
    for (const proxy of proxies) proxy.hurry();
    await won;
    const lease = await acquiring;
    await quorum.untilAll(kind, name);
    for (const proxy of proxies) {
      expect(proxy.history.filter(kind.acquires).filter((args) => args.includes(name))).toHaveLength(1);
    }
    const votes = await quorum.votes(kind, name);
    expect(new Set(votes).size).toBe(1);
    expect(await lease.release()).toBe(true);
  });

  test('does not wait for stragglers once a majority has granted it', async () => {
    const proxies = await quorum.proxies();
    const locks = await quorum.assembled(kind, PATIENT, proxies);
    for (const proxy of proxies.slice(0, 2)) proxy.freeze();
    const [lease, tookMs] = await timed(() => kind.of(locks, quorum.name()).acquire());
    expect(tookMs).toBeLessThan(SOON_MS);
    expect(lease.isHeld).toBe(true);
    for (const proxy of proxies.slice(0, 2)) proxy.thaw();
    await quorum.untilAll(kind, lease.name);
    expect(await lease.release()).toBe(true);
    await quorum.untilFree(kind, lease.name);
  });

  test('is refused as soon as a majority has refused it, and the votes it had are given back', async () => {
    const proxies = await quorum.proxies();
    const locks = await quorum.assembled(kind, PATIENT, proxies);
    const name = `foreign ${quorum.name()}`;
    await quorum.take(kind, name, [1, 2, 3]);
    const straggler = proxies[0] as (typeof proxies)[0];
    straggler.freeze();
    const [lease, tookMs] = await timed(() => kind.of(locks, name).tryAcquire());
    expect(lease).toBeNull();
    expect(tookMs).toBeLessThan(SOON_MS);
    straggler.thaw();
    await waitFor(async () => {
      const votes = await quorum.votes(kind, name);
      expect(votes).toEqual([null, kind.foreignOwner, kind.foreignOwner, kind.foreignOwner, null]);
      return true;
    });
  });

  test('that is granted too late by a server is released there when its answer comes', async () => {
    const proxies = await quorum.proxies();
    const locks = await quorum.assembled(kind, { nodeTimeoutMs: 2_000 }, proxies);
    const name = `foreign ${quorum.name()}`;
    await quorum.take(kind, name, [2, 3, 4]);
    // Its request arrives in time, and its answer when nobody waits for it any more.
    const proxy = proxies[0] as (typeof proxies)[0];
    const late = proxy.delayReply((args) => kind.acquires(args) && args.includes(name), 4_000);
    expect(await kind.of(locks, name).tryAcquire()).toBeNull();
    await late;
    await waitFor(async () => (await quorum.voters(kind, name)).join() === '2,3,4');
  });

  test('is won by a majority although the others have it for somebody else', async () => {
    const locks = await quorum.assembled(kind);
    const name = `foreign ${quorum.name()}`;
    await quorum.take(kind, name, [0, 4]);
    const lease = await kind.of(locks, name).acquire();
    const votes = await quorum.votes(kind, name);
    expect(votes.filter((owner) => owner !== kind.foreignOwner)).toHaveLength(3);
    expect(await lease.release()).toBe(true);
    await waitFor(async () => (await quorum.voters(kind, name)).join() === '0,4');
  });

  test('is not granted on votes that may have expired', async () => {
    // Two answer at once, and the third when the lease of the first two is nearly over: no majority is certain.
    const proxies = await quorum.proxies();
    const locks = await quorum.assembled(kind, { nodeTimeoutMs: 5_000 }, proxies);
    const name = quorum.name();
    for (const proxy of proxies.slice(2)) proxy.delay(800);
    const error = await rejection(kind.of(locks, name).tryAcquire({ leaseMs: 1_000 }));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(error).toMatchObject({ message: expect.stringContaining('late') });
    for (const proxy of proxies) proxy.delay(0);
    await quorum.untilFree(kind, name);
  });

  test('has the validity that was left when it was won', async () => {
    const proxies = await quorum.proxies();
    const locks = await quorum.assembled(kind, PATIENT, proxies);
    for (const proxy of proxies) proxy.delay(DELAY_MS);
    const lease = await kind.of(locks, quorum.name()).acquire({ leaseMs: 60_000 });
    // There and back again: once at least, and a second time where a fence had to be raised.
    expect(lease.remainingMs).toBeLessThan(60_000 * 0.99 - 2 - 2 * DELAY_MS + 10);
    expect(lease.remainingMs).toBeGreaterThan(30_000);
    for (const proxy of proxies) proxy.delay(0);
    await lease.release();
  });

  test('with three of five servers down fails when its wait is over, and leaves no vote on the living', async () => {
    const name = quorum.name();
    const locks = await quorum.assembled(kind, { nodeTimeoutMs: DELAY_MS });
    quorum.server(0).freeze();
    await quorum.server(1).kill();
    quorum.server(2).freeze();
    for (const waitMs of [1_000, 600]) {
      const [error, tookMs] = await timed(() => rejection(kind.of(locks, name).acquire({ waitMs })));
      expect(error).toBeInstanceOf(LockUnavailableError);
      // To the millisecond where the clock is ours: see `topologies/quorum/quorum.test.ts`.
      expect(tookMs).toBeLessThan(SOON_MS);
    }
    await quorum.untilFree(kind, name);
  });

  test('is not granted by three of five that are asked for the first time and hang', async () => {
    for (const i of [0, 1, 2]) quorum.server(i).freeze();
    const name = quorum.name();
    const locks = quorum.session({ nodeTimeoutMs: DELAY_MS });
    const [error, tookMs] = await timed(() => rejection(kind.of(locks, name).acquire({ waitMs: 800 })));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(tookMs).toBeLessThan(SOON_MS);
    await quorum.untilFree(kind, name);
  });
});

describe('what stands in the way', STEADY, () => {
  test('is told as a conflict when a majority has something else there', async () => {
    const locks = await quorum.assembled(LOCK);
    const name = `foreign ${quorum.name()}`;
    for (const i of [0, 1, 2]) await ask(quorum.server(i).port, ['SET', name, 'data']);
    expect(await rejection(locks.lock(name).acquire())).toMatchObject({ code: 'ELOCKCONFLICT' });
    expect(await ask(quorum.server(0).port, ['GET', name])).toBe('data');
    await quorum.remove(name, [0, 1, 2]);
  });

  test('is an outage when some servers are down and others have something else there', async () => {
    const locks = await quorum.assembled(LOCK, { outageMs: 300 });
    const name = `foreign ${quorum.name()}`;
    await ask(quorum.server(0).port, ['SET', name, 'data']);
    await Promise.all([quorum.server(1).kill(), quorum.server(2).kill()]);
    expect(await rejection(locks.lock(name).acquire())).toMatchObject({ code: 'ELOCKUNAVAILABLE' });
    expect(await rejection(locks.lock(name).tryAcquire())).toMatchObject({ code: 'ELOCKUNAVAILABLE' });
    await quorum.remove(name, [0]);
  });

  test('is sat out once the servers have answered, whoever was there at the first call', async () => {
    const majority = [0, 1, 2].map((i) => quorum.server(i));
    await Promise.all(majority.map((server) => server.kill()));
    const locks = quorum.session({ outageMs: 20_000 });
    const name = quorum.name();
    const mutex = locks.mutex(name);
    // Nobody has ever answered: a wrong address, more often than not.
    expect(await rejection(mutex.acquire())).toMatchObject({ code: 'ELOCKUNAVAILABLE' });
    await Promise.all(majority.map((server) => server.restart()));
    await quorum.assemble(locks, MUTEX);
    await Promise.all(majority.map((server) => server.kill()));
    const waiting = mutex.acquire();
    const told = await Promise.race([
      waiting.catch(() => 'told'),
      waitFor(() => false, { limitMs: 500 }).catch(() => 'sits'),
    ]);
    expect(told).toBe('sits');
    await Promise.all(majority.map((server) => server.restart()));
    expect(await (await waiting).release()).toBe(true);
    // Those that have just started must be sent the script as a whole, which takes longer than a majority does.
    await quorum.untilFree(MUTEX, name);
  });
});
