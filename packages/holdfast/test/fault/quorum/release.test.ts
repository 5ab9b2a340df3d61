/** A release goes to every server; those that are away get it when they are back, or their own time does it. */
import { describe, expect, test } from 'vitest';
import { LockError } from '../../../src/index.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held } from '../../support/locks/held.ts';
import { KINDS } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import { steady } from '../../support/steady.ts';
import { waitFor } from '../../support/wait-for.ts';
import { timed, useQuorumBench, useServers } from './support.ts';

const servers = useServers(5);
useLeakCheck(servers);
const quorum = useQuorumBench(servers);
const STEADY = steady();

describe.each(KINDS)('the release of a $name', STEADY, (kind) => {
  test('is sent to all five, and wakes the next one', async () => {
    const locks = await quorum.assembled(kind);
    const name = quorum.name();
    const lease = await kind.of(locks, name).acquire();
    await waitFor(async () => (await quorum.voters(kind, name)).length === 5);
    expect(await lease.release()).toBe(true);
    await quorum.untilFree(kind, name);
    expect(await lease.release()).toBe(false);
  });

  test('is true while a minority is away, and reaches that minority when it is back', async () => {
    const locks = await quorum.assembled(kind, { nodeTimeoutMs: 25_000, callTimeoutMs: 25_000 });
    const name = quorum.name();
    const lease = await kind.of(locks, name).acquire({ leaseMs: 60_000, renew: false });
    await waitFor(async () => (await quorum.voters(kind, name)).length === 5);
    for (const i of [0, 1]) quorum.server(i).freeze();
    const [isReleased, tookMs] = await timed(() => lease.release());
    expect(isReleased).toBe(true);
    expect(tookMs).toBeLessThan(15_000);
    await quorum.resume([0, 1]);
    await quorum.untilFree(kind, name, 10_000);
  });

  test('is true although this process stood still while the answers came', async () => {
    const locks = await quorum.assembled(kind, { nodeTimeoutMs: 200 });
    const lease = await kind.of(locks, quorum.name()).acquire({ leaseMs: 60_000 });
    const releasing = lease.release();
    // The requests are out, and each is repeated because nobody could read its answer. The repeat finds nothing.
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    const untilMs = performance.now() + 400;
    while (performance.now() < untilMs);
    expect(await releasing).toBe(true);
  });

  test('reaches a server whose connection was cut', async () => {
    const proxies = await quorum.proxies();
    const locks = await quorum.assembled(kind, {}, proxies);
    const name = quorum.name();
    const lease = await kind.of(locks, name).acquire({ leaseMs: 60_000, renew: false });
    await waitFor(async () => (await quorum.voters(kind, name)).length === 5);
    for (const proxy of proxies.slice(0, 2)) {
      proxy.refuse();
      proxy.cutAll();
    }
    expect(await lease.release()).toBe(true);
    expect((await quorum.voters(kind, name)).length).toBeGreaterThanOrEqual(2);
    await Promise.all(proxies.slice(0, 2).map((proxy) => proxy.accept()));
    await quorum.untilFree(kind, name, 10_000);
  });

  test('is left to the time of a server that does not come back in this life', async () => {
    const locks = await quorum.assembled(kind);
    const name = quorum.name();
    const lease = await kind.of(locks, name).acquire({ leaseMs: 12_000, renew: false });
    await waitFor(async () => (await quorum.voters(kind, name)).length === 5);
    quorum.server(4).freeze();
    expect(await lease.release()).toBe(true);
    await locks.destroy();
    await quorum.resume([4]);
    expect((await held(quorum.server(4).port, kind, name))?.ttlMs ?? 0).toBeLessThanOrEqual(12_000);
    await quorum.untilFree(kind, name, 25_000);
  });

  test('says that it could not be confirmed when a majority is away, and goes on', async () => {
    const locks = await quorum.assembled(kind, { nodeTimeoutMs: 300 });
    const name = quorum.name();
    const lease = await kind.of(locks, name).acquire({ leaseMs: 60_000, renew: false });
    await waitFor(async () => (await quorum.voters(kind, name)).length === 5);
    for (const i of [0, 1, 2]) quorum.server(i).freeze();
    const [error, tookMs] = await timed(() => rejection(lease.release()));
    expect(error).toBeInstanceOf(LockError);
    expect(error).toMatchObject({ code: expect.stringMatching(/ELOCKUNKNOWN|ELOCKUNAVAILABLE/) });
    expect(tookMs).toBeLessThan(15_000);
    await quorum.resume([0, 1, 2]);
    await quorum.untilFree(kind, name, 10_000);
  });

  test('of what a majority has lost is false', async () => {
    const locks = await quorum.assembled(kind);
    const name = quorum.name();
    const lease = await kind.of(locks, name).acquire({ renew: false });
    await waitFor(async () => (await quorum.voters(kind, name)).length === 5);
    await quorum.remove(name, [0, 2, 4]);
    expect(await lease.release()).toBe(false);
    await quorum.untilFree(kind, name);
  });

  test('happens when the session is closed, and of all servers that are there', async () => {
    const locks = await quorum.assembled(kind);
    const name = quorum.name();
    await kind.of(locks, name).acquire();
    await waitFor(async () => (await quorum.voters(kind, name)).length === 5);
    await locks.close();
    await quorum.untilFree(kind, name);
  });
});
