/** What is told on diagnostics channels: the documented payloads, no secrets, and nothing when nobody listens. */

import { Channel, channel, tracingChannel } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  CHANNELS,
  LockAbortedError,
  type LockTrace,
  type LostMessage,
  type RenewTrace,
  type WokenMessage,
} from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { fenceOf } from '../../support/locks/fences.ts';
import { held } from '../../support/locks/held.ts';
import { LOCK, MUTEX } from '../../support/locks/kind.ts';
import { untilAsleep, warmUp } from '../../support/locks/warm-up.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();
const TRIES_MAX = 5;
afterEach(() => {
  vi.restoreAllMocks();
});

/** The moments of a tracing channel, in the order in which they come. */
function trace<Context>(name: string): { readonly moment: string; readonly context: Context }[] {
  const moments: { moment: string; context: Context }[] = [];
  for (const moment of ['start', 'end', 'asyncStart', 'asyncEnd', 'error']) {
    const heard = bench.diagnostics<Context>(`tracing:${name}:${moment}`);
    // Noted as they come, so that the order over all moments is kept.
    (heard as Context[]).push = (context) => moments.push({ moment, context });
  }
  return moments;
}

describe.each(MATRIX)('$client, $kind.name: with subscribers', ({ client, kind }) => {
  const fence = kind === LOCK ? expect.any(Number) : undefined;

  test('an acquisition is traced with its lock, its session, its fence and its result', async () => {
    const locks = await bench.session(redis.port, { client });
    const name = bench.name();
    const moments = trace<LockTrace>(CHANNELS.acquire);
    const lease = await kind.of(locks, name).acquire();
    expect(moments.map(({ moment }) => moment)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd']);
    const [first] = moments;
    for (const { context } of moments) expect(context).toBe(first?.context);
    expect(first?.context).toMatchObject({ lock: name, kind: kind.name, session: locks.session });
    expect(first?.context.fence).toEqual(fence);
    expect(first?.context.result).toBe(lease);
    moments.length = 0;
    expect(await kind.of(locks, name).tryAcquire()).toBeNull();
    expect(moments.at(-1)).toMatchObject({ moment: 'asyncEnd', context: { lock: name, result: null } });
    moments.length = 0;
    const error = await rejection(kind.of(locks, name).acquire({ signal: AbortSignal.timeout(20) }));
    expect(error).toBeInstanceOf(LockAbortedError);
    expect(moments.map(({ moment }) => moment)).toEqual(['start', 'end', 'error', 'asyncStart', 'asyncEnd']);
    expect(moments.at(-1)?.context).toMatchObject({ lock: name, error });
    expect(await lease.release()).toBe(true);
  });

  test("a release is traced with its result, and a use without: that is the caller's own", async () => {
    const locks = await bench.session(redis.port, { client });
    const name = bench.name();
    const releases = trace<LockTrace>(CHANNELS.release);
    const uses = trace<LockTrace>(CHANNELS.using);
    const lease = await kind.of(locks, name).acquire();
    expect(await lease.release()).toBe(true);
    expect(releases.map(({ moment }) => moment)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd']);
    expect(releases.at(-1)?.context).toMatchObject({
      lock: name,
      kind: kind.name,
      session: locks.session,
      result: true,
    });
    expect(await lease.release()).toBe(false);
    expect(releases.at(-1)?.context).toMatchObject({ result: false });
    expect(uses).toEqual([]);
    expect(await kind.of(locks, name).using(() => 'done')).toBe('done');
    expect(uses.map(({ moment }) => moment)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd']);
    expect(uses.at(-1)?.context).toMatchObject({ lock: name, kind: kind.name, session: locks.session });
    expect(JSON.stringify(uses)).not.toContain('done');
    const failure = new Error('the body failed');
    expect(await rejection(kind.of(locks, name).using(() => Promise.reject(failure)))).toBe(failure);
    expect(uses.at(-1)?.context).toMatchObject({ error: failure });
  });

  test('a renewal is traced as a batch, and a loss says which lock, which fence and why', async () => {
    const locks = await bench.session(redis.port, { client, leaseMs: 6_000 });
    const names = [bench.name(), bench.name()];
    const renewals = trace<RenewTrace>(CHANNELS.renew);
    const losses = bench.diagnostics<LostMessage>(CHANNELS.lost);
    const leases = await Promise.all(names.map((name) => kind.of(locks, name).acquire()));
    await waitFor(
      () => renewals.some(({ moment, context }) => moment === 'asyncEnd' && context.locks.length === 2),
      {
        what: 'a batch of both',
      },
    );
    const { context } = renewals.find(({ context }) => context.locks.length === 2) ?? {};
    expect(context).toMatchObject({ kind: kind.name, locks: expect.arrayContaining(names) });
    expect(losses).toEqual([]);
    await ask(redis.port, ['DEL', ...names]);
    await waitFor(() => losses.length === 2, { what: 'both losses' });
    for (const [index, lock] of names.entries()) {
      const lease = leases[index];
      const expected = {
        lock,
        kind: kind.name,
        lease: expect.stringMatching(`^${locks.session}#`),
        fence: lease && fenceOf(lease),
        reason: 'gone',
      };
      expect(losses.find((message) => message.lock === lock)).toEqual(expected);
    }
  });

  test('a waiter that is woken says why', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client });
    const other = await bench.session(redis.port, { client });
    // So that its release follows at once: who waits for long asks again by itself.
    await warmUp(other, kind);
    const woken = bench.diagnostics<WokenMessage>(CHANNELS.woken);
    let name = '';
    // On a busy machine it may ask again by itself at that very moment, now and then.
    for (let tries = 0; tries < TRIES_MAX && woken.at(-1)?.reason !== 'message'; tries += 1) {
      name = bench.name();
      await kind.seize(redis.port, name, 60_000);
      const waiting = kind.of(locks, name).acquire();
      await untilAsleep(locks, proxy, kind, name);
      expect(await other.forceRelease(name)).toBe(kind.shown(kind.foreignOwner));
      expect(await (await waiting).release()).toBe(true);
    }
    expect(woken.at(-1)).toEqual({ lock: name, kind: kind.name, reason: 'message' });
    await kind.seize(redis.port, name, 2_000);
    expect(await (await kind.of(locks, name).acquire()).release()).toBe(true);
    expect(woken.at(-1)).toEqual({ lock: name, kind: kind.name, reason: 'time' });
  });

  test('no payload carries the token of an owner', async () => {
    const locks = await bench.session(redis.port, { client, leaseMs: 6_000 });
    const other = await bench.session(redis.port, { client, leaseMs: 6_000 });
    // A first connection may take longer than the short wait below, which would be an outage.
    await warmUp(other, kind);
    const said: unknown[] = [];
    for (const name of Object.values(CHANNELS)) {
      for (const full of [
        name,
        ...['start', 'end', 'asyncStart', 'asyncEnd', 'error'].map((m) => `tracing:${name}:${m}`),
      ]) {
        const heard = bench.diagnostics<unknown>(full);
        (heard as unknown[]).push = (context) => said.push(context);
      }
    }
    const name = bench.name();
    const owners: string[] = [];
    const lease = await kind.of(locks, name).acquire();
    owners.push((await held(redis.port, kind, name))?.owner ?? '');
    const short = rejection(kind.of(other, name).using(() => {}, { waitMs: 200 }));
    const waiting = kind.of(other, name).acquire();
    await short;
    await waitFor(
      () => said.some((context) => context !== null && typeof context === 'object' && 'locks' in context),
      {
        what: 'a renewal',
      },
    );
    await lease.extend(6_000);
    expect(await lease.release()).toBe(true);
    const next = await waiting;
    owners.push((await held(redis.port, kind, name))?.owner ?? '');
    await ask(redis.port, ['DEL', name]);
    await waitFor(() => next.signal.aborted, { what: 'the loss' });
    const text = [
      inspect(said, {
        depth: 12,
        showHidden: true,
        getters: true,
        maxStringLength: null,
        maxArrayLength: null,
      }),
      JSON.stringify(said),
    ].join('\n');
    expect(text).toContain(name);
    for (const owner of owners) {
      expect(owner).not.toBe('');
      // The owner of a lock is no secret, and a timeout tells who was in the way; that of a mutex is.
      if (kind === MUTEX) expect(text).not.toContain(owner);
    }
  });
});

test.each(MATRIX)(
  '$client, $kind.name: without subscribers nothing is built or published',
  async ({ client, kind }) => {
    const traced = vi.spyOn(Object.getPrototypeOf(tracingChannel('any')), 'tracePromise');
    const published = vi.spyOn(Channel.prototype, 'publish');
    for (const name of Object.values(CHANNELS)) {
      expect(channel(name).hasSubscribers).toBe(false);
      expect(tracingChannel(name).hasSubscribers).toBe(false);
    }
    const locks = await bench.session(redis.port, { client, leaseMs: 6_000 });
    const other = await bench.session(redis.port, { client });
    const name = bench.name();
    await kind.of(locks, name).using(async () => {
      await rejection(kind.of(other, name).acquire({ waitMs: 1_000 }));
    });
    const lost = await kind.of(locks, name).acquire();
    await ask(redis.port, ['DEL', name]);
    await waitFor(() => lost.signal.aborted, { what: 'the loss' });
    const ours = (calls: readonly (readonly unknown[])[]): readonly unknown[] =>
      calls.filter((call) => JSON.stringify(call)?.includes(name));
    expect(ours(traced.mock.calls)).toEqual([]);
    expect(ours(published.mock.calls)).toEqual([]);
  },
);
