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
import { useLeakCheck } from '../../support/leak-check.ts';
import { useRedis } from '../../support/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { held, LOCK, MATRIX, rejection, type Subject, useBench, warmUp } from './support.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

/** Long against everything that happens here: a key that is gone was removed, not expired. */
const LEASE_MS = 60_000;

/** Who asked, in a request to acquire. */
const holderIn = (args: readonly string[]): string => args[3 + Number(args[2])] ?? '';

async function expectOneGrant(
  subject: Subject,
  name: string,
  args: readonly string[],
  fence: unknown,
): Promise<void> {
  const state = await held(redis.port, subject, name);
  expect(state).toMatchObject({ owner: holderIn(args), count: 1 });
  expect(state?.ttlMs).toBeGreaterThan(LEASE_MS / 2);
  // The first of the block of 65, or the last when the request was repeated.
  if (subject.kind === 'lock') expect([0, 64]).toContain(Number(state?.fence) - Number(fence));
}

describe.each(MATRIX)('$client, $subject.kind: the reply of an acquire is lost', ({ client, subject }) => {
  test('acquire and tryAcquire end up with one grant under one holder', async () => {
    for (const verb of ['acquire', 'tryAcquire'] as const) {
      const proxy = await bench.proxy(redis.port);
      const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
      const name = bench.name();
      const cut = proxy.cutAfterRequest(subject.acquires);
      const lease = await subject.of(locks, name)[verb]();
      await expectOneGrant(subject, name, await cut, lease && 'fence' in lease ? lease.fence : undefined);
      expect(lease?.isHeld).toBe(true);
      expect(await lease?.release()).toBe(true);
      expect(await held(redis.port, subject, name)).toBeNull();
      // The first may have travelled as text, because the server did not know the script.
      expect(new Set(proxy.history.filter(subject.acquires).map(holderIn)).size).toBe(1);
    }
  });

  test('several lost replies in a row still make one grant', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    const name = bench.name();
    const cut = proxy.cutAfterRequest(subject.acquires, 4);
    const lease = await subject.of(locks, name).acquire();
    await expectOneGrant(subject, name, await cut, 'fence' in lease ? lease.fence : undefined);
    expect(await lease.release()).toBe(true);
    expect(proxy.connectionsMade).toBeGreaterThanOrEqual(5);
  });

  test('a request that is cut before the server sees it is sent again', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    const name = bench.name();
    const cut = proxy.cutBeforeRequest(subject.acquires);
    const lease = await subject.of(locks, name).tryAcquire();
    await expectOneGrant(subject, name, await cut, lease && 'fence' in lease ? lease.fence : undefined);
    expect(await lease?.release()).toBe(true);
  });

  test('a use whose release got no answer keeps what the body did', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    const name = bench.name();
    await warmUp(locks, subject);
    const cut = proxy.cutAfterRequest(subject.releases);
    expect(await subject.of(locks, name).using(() => 'done')).toBe('done');
    await cut;
    const cutBefore = proxy.cutBeforeRequest(subject.releases);
    const failure = new Error('the body failed');
    expect(await rejection(subject.of(locks, name).using(() => Promise.reject(failure)))).toBe(failure);
    await cutBefore;
    await waitFor(async () => (await held(redis.port, subject, name)) === null, {
      what: 'the key to be gone',
    });
  });

  test('a server that stays away gets the release as soon as it is back', async () => {
    for (const isKnown of [true, false]) {
      const proxy = await bench.proxy(redis.port);
      const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS, outageMs: 300 });
      const late = bench.hear<LateReleaseMessage>(CHANNELS.lateRelease);
      if (isKnown) await warmUp(locks, subject);
      const names = [bench.name(), bench.name()];
      for (const [i, verb] of (['acquire', 'tryAcquire'] as const).entries()) {
        const name = names[i] ?? '';
        const cut = proxy.cutAfterRequest(subject.acquires).then(() => proxy.refuse());
        const error = await rejection(subject.of(locks, name)[verb]());
        await cut;
        expect(error instanceof LockUnavailableError || error instanceof LockUnknownError).toBe(true);
        expect(error).toMatchObject({ lock: name });
        expect(await held(redis.port, subject, name)).not.toBeNull();
        await proxy.accept();
        await waitFor(() => late.some(({ lock }) => lock === name), { what: `the late release of ${name}` });
        expect(late.find(({ lock }) => lock === name)).toEqual({
          lock: name,
          kind: subject.kind,
          outcome: 'released',
        });
        expect(await held(redis.port, subject, name)).toBeNull();
      }
      await locks.destroy();
    }
  });
});

test('a reply that is dropped on a connection that stays open is asked for again over another one', async () => {
  const runs = MATRIX.map(async ({ client, subject }) => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    const name = bench.name();
    await warmUp(locks, subject, `warm-up:${name}`);
    const dropped = proxy.dropReply(subject.acquires);
    const lease = await subject.of(locks, name).tryAcquire();
    const args = await dropped;
    await expectOneGrant(subject, name, args, lease && 'fence' in lease ? lease.fence : undefined);
    expect(await lease?.release()).toBe(true);
    expect(await held(redis.port, subject, name)).toBeNull();
  });
  await Promise.all(runs);
});

test('a reply that is dropped when there is no other connection to be had leaves no key once there is', async () => {
  const late = bench.hear<LateReleaseMessage>(CHANNELS.lateRelease);
  const runs = MATRIX.map(async ({ client, subject }) => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS, callTimeoutMs: 2_000 });
    const name = bench.name();
    await warmUp(locks, subject, `warm-up:${name}`);
    const dropped = proxy.dropReply(subject.acquires);
    proxy.refuse();
    const failed = rejection(subject.of(locks, name).tryAcquire());
    await dropped;
    expect(await held(redis.port, subject, name)).not.toBeNull();
    expect(await failed).toBeInstanceOf(LockUnknownError);
    await proxy.accept();
    await waitFor(() => late.some(({ lock }) => lock === name), {
      limitMs: 20_000,
      what: 'the late release',
    });
    expect(late.filter(({ lock }) => lock === name)).toEqual([
      { lock: name, kind: subject.kind, outcome: 'released' },
    ]);
    expect(await held(redis.port, subject, name)).toBeNull();
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
