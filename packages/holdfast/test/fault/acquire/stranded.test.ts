/**
 * A request to acquire that outlives its connection: a relay between us and the server still carries what was
 * sent before our side of it was cut, and delivers it after the lock has been acquired and released by a second
 * request, or given up. It carries a time after which it must not be granted, but may arrive before that.
 */

import { expect, test } from 'vitest';
import { LockAbortedError } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { untilFree } from '../../support/locks/held.ts';

import { KINDS, type Kind } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { rejection } from '../../support/rejection.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

/** Long against everything that happens here: a key that is gone was removed, not expired. */
const LEASE_MS = 60_000;

/** An acquire whose request is under way, on a connection that is lost by now, and arrives in half a second. */
async function strand(kind: Kind) {
  const inner = await bench.proxy(redis.port);
  const outer = await bench.proxy(inner.port);
  const locks = await bench.session(outer.port, { leaseMs: LEASE_MS, callTimeoutMs: 1_500 });
  const name = bench.name();
  await warmUp(locks, kind, `warm-up:${name}`);
  inner.clearHistory();
  inner.delay(500);
  const controller = new AbortController();
  const acquiring = kind.of(locks, name).acquire({ signal: controller.signal });
  // Read by the second proxy: what still lies in a socket may be lost with its connection.
  await waitFor(() => inner.received.some(kind.acquires), { what: 'the request to be under way' });
  const [request] = inner.received.filter(kind.acquires);
  inner.delay(0);
  outer.cutAll();
  const arrivals = (): number =>
    inner.history.filter(kind.acquires).filter((args) => String(args) === String(request)).length;
  return { name, acquiring, controller, arrivals };
}

test('a stranded request leaves no key behind after a second one got the lock and released it', async () => {
  const runs = KINDS.map(async (kind) => {
    const { name, acquiring, arrivals } = await strand(kind);
    expect(await (await acquiring).release()).toBe(true);
    await waitFor(() => arrivals() > 0, { what: 'the stranded request to arrive' });
    await untilFree(redis.port, kind, name);
  });
  await Promise.all(runs);
});

test('a stranded request leaves no key behind after its caller gave up', async () => {
  const runs = KINDS.map(async (kind) => {
    const { name, acquiring, controller, arrivals } = await strand(kind);
    controller.abort();
    expect(await rejection(acquiring)).toBeInstanceOf(LockAbortedError);
    await waitFor(() => arrivals() > 0, { what: 'the stranded request to arrive' });
    await untilFree(redis.port, kind, name);
  });
  await Promise.all(runs);
});
