/**
 * The server grants, and the answer is lost with its connection. Whatever the caller hears next must be true: the
 * lock under the same holder with the same fence, or an error and soon no key.
 */

import { describe, expect, test } from 'vitest';
import {
  CHANNELS,
  type LateReleaseMessage,
  LockUnavailableError,
  LockUnknownError,
} from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { fenceOf } from '../../support/locks/fences.ts';
import { held, untilFree } from '../../support/locks/held.ts';
import { type Kind, LOCK } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { rejection } from '../../support/rejection.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

/** Long against everything that happens here: a key that is gone was removed, not expired. */
const LEASE_MS = 60_000;

/** Who asked, in a request to acquire. */
const holderIn = (args: readonly string[]): string => args[3 + Number(args[2])] ?? '';

async function expectOneGrant(
  kind: Kind,
  name: string,
  args: readonly string[],
  fence: unknown,
): Promise<void> {
  const state = await held(redis.port, kind, name);
  expect(state).toMatchObject({ owner: holderIn(args), count: 1 });
  expect(state?.ttlMs).toBeGreaterThan(LEASE_MS / 2);
  // The first of the block of 65, or the last when the request was repeated.
  if (kind === LOCK) expect([0, 64]).toContain(Number(state?.fence) - Number(fence));
}

describe.each(MATRIX)('$client, $kind.name: the reply of an acquire is lost', ({ client, kind }) => {
  test('acquire and tryAcquire end up with one grant under one holder', async () => {
    for (const verb of ['acquire', 'tryAcquire'] as const) {
      const proxy = await bench.proxy(redis.port);
      const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
      const name = bench.name();
      const cut = proxy.cutAfterRequest(kind.acquires);
      const lease = await kind.of(locks, name)[verb]();
      await expectOneGrant(kind, name, await cut, lease && fenceOf(lease));
      expect(lease?.isHeld).toBe(true);
      expect(await lease?.release()).toBe(true);
      expect(await held(redis.port, kind, name)).toBeNull();
      // The first may have travelled as text, because the server did not know the script.
      expect(new Set(proxy.history.filter(kind.acquires).map(holderIn)).size).toBe(1);
    }
  });

  test('several lost replies in a row still make one grant', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    const name = bench.name();
    const cut = proxy.cutAfterRequest(kind.acquires, 4);
    const lease = await kind.of(locks, name).acquire();
    await expectOneGrant(kind, name, await cut, fenceOf(lease));
    expect(await lease.release()).toBe(true);
    expect(proxy.connectionsMade).toBeGreaterThanOrEqual(5);
  });

  test('a request that is cut before the server sees it is sent again', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    const name = bench.name();
    const cut = proxy.cutBeforeRequest(kind.acquires);
    const lease = await kind.of(locks, name).tryAcquire();
    await expectOneGrant(kind, name, await cut, lease && fenceOf(lease));
    expect(await lease?.release()).toBe(true);
  });

  test('a use whose release got no answer keeps what the body did', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    const name = bench.name();
    await warmUp(locks, kind);
    const cut = proxy.cutAfterRequest(kind.releases);
    expect(await kind.of(locks, name).using(() => 'done')).toBe('done');
    await cut;
    const cutBefore = proxy.cutBeforeRequest(kind.releases);
    const failure = new Error('the body failed');
    expect(await rejection(kind.of(locks, name).using(() => Promise.reject(failure)))).toBe(failure);
    await cutBefore;
    await untilFree(redis.port, kind, name);
  });

  test('a server that stays away gets the release as soon as it is back', async () => {
    for (const isKnown of [true, false]) {
      const proxy = await bench.proxy(redis.port);
      const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS, outageMs: 300 });
      const late = bench.diagnostics<LateReleaseMessage>(CHANNELS.lateRelease);
      if (isKnown) await warmUp(locks, kind);
      const names = [bench.name(), bench.name()];
      for (const [i, verb] of (['acquire', 'tryAcquire'] as const).entries()) {
        const name = names[i] ?? '';
        const cut = proxy.cutAfterRequest(kind.acquires).then(() => proxy.refuse());
        const error = await rejection(kind.of(locks, name)[verb]());
        await cut;
        expect(error instanceof LockUnavailableError || error instanceof LockUnknownError).toBe(true);
        expect(error).toMatchObject({ lock: name });
        expect(await held(redis.port, kind, name)).not.toBeNull();
        await proxy.accept();
        await waitFor(() => late.some(({ lock }) => lock === name), { what: `the late release of ${name}` });
        expect(late.find(({ lock }) => lock === name)).toEqual({
          lock: name,
          kind: kind.name,
          outcome: 'released',
        });
        expect(await held(redis.port, kind, name)).toBeNull();
      }
      await locks.destroy();
    }
  });
});

test('a reply that is dropped on a connection that stays open is asked for again over another one', async () => {
  const runs = MATRIX.map(async ({ client, kind }) => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    const name = bench.name();
    await warmUp(locks, kind, `warm-up:${name}`);
    const dropped = proxy.dropReply(kind.acquires);
    const lease = await kind.of(locks, name).tryAcquire();
    const args = await dropped;
    await expectOneGrant(kind, name, args, lease && fenceOf(lease));
    expect(await lease?.release()).toBe(true);
    expect(await held(redis.port, kind, name)).toBeNull();
  });
  await Promise.all(runs);
});

test('a reply that is dropped when there is no other connection to be had leaves no key once there is', async () => {
  const late = bench.diagnostics<LateReleaseMessage>(CHANNELS.lateRelease);
  const runs = MATRIX.map(async ({ client, kind }) => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS, callTimeoutMs: 2_000 });
    const name = bench.name();
    await warmUp(locks, kind, `warm-up:${name}`);
    const dropped = proxy.dropReply(kind.acquires);
    proxy.refuse();
    const failed = rejection(kind.of(locks, name).tryAcquire());
    await dropped;
    expect(await held(redis.port, kind, name)).not.toBeNull();
    expect(await failed).toBeInstanceOf(LockUnknownError);
    await proxy.accept();
    await waitFor(() => late.some(({ lock }) => lock === name), {
      limitMs: 20_000,
      what: 'the late release',
    });
    expect(late.filter(({ lock }) => lock === name)).toEqual([
      { lock: name, kind: kind.name, outcome: 'released' },
    ]);
    expect(await held(redis.port, kind, name)).toBeNull();
  });
  await Promise.all(runs);
});

test('a lock that is entered again after a lost reply counts once', async () => {
  const proxy = await bench.proxy(redis.port);
  const locks = await bench.session(proxy.port, { leaseMs: LEASE_MS });
  const name = bench.name();
  const cut = proxy.cutAfterRequest(LOCK.acquires);
  await locks.lock(name).using(async () => {
    await cut;
    await locks.lock(name).using(async () => {
      expect((await held(redis.port, LOCK, name))?.count).toBe(2);
    });
    expect((await held(redis.port, LOCK, name))?.count).toBe(1);
  });
});
