/**
 * A request to acquire that is stuck in some buffer while its caller gives up. When it reaches the server at last
 * it must grant nothing: nobody is there to hold it, and nobody would release it for a whole lease.
 */
import { describe, expect, test } from 'vitest';
import {
  CHANNELS,
  type Clock,
  type LateReleaseMessage,
  LockUnavailableError,
  LockUnknownError,
} from '../../../src/index.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held } from '../../support/locks/held.ts';
import { KINDS } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { rejection } from '../../support/rejection.ts';
import { type CommandCounts, commandCounts } from '../../support/servers/commands.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { elapse, waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const LEASE_MS = 60_000;
const CALL_TIMEOUT_MS = 500;
const OPTIONS = { leaseMs: LEASE_MS, callTimeoutMs: CALL_TIMEOUT_MS };

/** What was told of the clean-up of that name, once it is done; a slow first connection may have had one too. */
async function cleanUpOf(late: readonly LateReleaseMessage[], name: string): Promise<LateReleaseMessage> {
  await waitFor(() => late.some(({ lock }) => lock === name), { what: 'the clean-up to be answered' });
  const [told, ...more] = late.filter(({ lock }) => lock === name);
  if (told === undefined || more.length > 0) throw new Error(`expected one clean-up, got ${more.length + 1}`);
  return told;
}

async function expectNothingWritten(counts: CommandCounts): Promise<void> {
  const { hset = 0, set = 0 } = await counts.delta();
  expect({ hset, set }).toEqual({ hset: 0, set: 0 });
}

describe.each(MATRIX)('$client, $kind.name: an acquire that comes late', ({ client, kind }) => {
  test('grants nothing when a frozen server wakes after its caller gave up', async () => {
    const locks = await bench.session(redis.port, { client, ...OPTIONS });
    await warmUp(locks, kind);
    const late = bench.diagnostics<LateReleaseMessage>(CHANNELS.lateRelease);
    const counts = await commandCounts(redis);
    const name = bench.name();
    const startMs = performance.now();
    redis.freeze();
    const error = await rejection(kind.of(locks, name).tryAcquire());
    expect(error).toBeInstanceOf(LockUnknownError);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(CALL_TIMEOUT_MS - 1);
    await elapse(20);
    redis.resume();
    const told = await cleanUpOf(late, name);
    expect(told).toEqual({ lock: name, kind: kind.name, outcome: 'gone' });
    await expectNothingWritten(counts);
    expect(await held(redis.port, kind, name)).toBeNull();
  });

  test('grants nothing when the network delivers it after its caller gave up', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, ...OPTIONS });
    await warmUp(locks, kind);
    const late = bench.diagnostics<LateReleaseMessage>(CHANNELS.lateRelease);
    const counts = await commandCounts(redis);
    const name = bench.name();
    proxy.freeze();
    expect(await rejection(kind.of(locks, name).tryAcquire())).toBeInstanceOf(LockUnknownError);
    await elapse(20);
    proxy.clearHistory();
    proxy.thaw();
    await cleanUpOf(late, name);
    // It did arrive.
    expect(proxy.history.filter(kind.acquires)).toHaveLength(1);
    await expectNothingWritten(counts);
    expect(await held(redis.port, kind, name)).toBeNull();
  });

  test('grants nothing when its connection has been replaced meanwhile', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, ...OPTIONS });
    await warmUp(locks, kind);
    const counts = await commandCounts(redis);
    const name = bench.name();
    proxy.clearHistory();
    redis.freeze();
    const failed = rejection(kind.of(locks, name).tryAcquire());
    await waitFor(() => proxy.history.some(kind.acquires), { what: 'the request to be under way' });
    // The server has the request in its buffer; the connection it came on is gone.
    proxy.cutAll();
    const error = await failed;
    expect(error instanceof LockUnknownError || error instanceof LockUnavailableError).toBe(true);
    await elapse(20);
    redis.resume();
    // The server comes to its new connections after the old one.
    await waitFor(async () => (await locks.inspect(name)) === null, { what: 'the name to be free' });
    await expectNothingWritten(counts);
    await warmUp(locks, kind, bench.name());
    expect(await held(redis.port, kind, name)).toBeNull();
  });

  test('is cleaned up by the release behind it when the server has never told its time', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, ...OPTIONS });
    const late = bench.diagnostics<LateReleaseMessage>(CHANNELS.lateRelease);
    const name = bench.name();
    // A connection without an acquire on it: inspecting teaches no time.
    await waitFor(async () => (await locks.inspect(name)) === null, { what: 'a first connection' });
    proxy.freeze();
    expect(await rejection(kind.of(locks, name).tryAcquire())).toBeInstanceOf(LockUnknownError);
    proxy.thaw();
    await cleanUpOf(late, name);
    expect(await held(redis.port, kind, name)).toBeNull();
  });

  test('is never sent when its connection came up after its caller gave up', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, ...OPTIONS });
    const name = bench.name();
    proxy.freeze();
    const error = await rejection(kind.of(locks, name).tryAcquire());
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(error).toMatchObject({
      servers: [{ kind: 'unreachable', text: expect.stringContaining('no connection') }],
    });
    proxy.thaw();
    await waitFor(() => locks.inspect(name).then((found) => found === null), { what: 'the connection' });
    expect(proxy.history.filter(kind.acquires)).toEqual([]);
  });

  test('a wait that ends while the server is frozen leaves nothing for when it wakes', async () => {
    const locks = await bench.session(redis.port, { client, leaseMs: LEASE_MS, callTimeoutMs: 2_000 });
    await warmUp(locks, kind);
    const counts = await commandCounts(redis);
    const name = bench.name();
    redis.freeze();
    const error = await rejection(kind.of(locks, name).acquire({ waitMs: 300 }));
    expect(error instanceof LockUnknownError || error instanceof LockUnavailableError).toBe(true);
    await elapse(20);
    redis.resume();
    await waitFor(async () => (await locks.inspect(name)) === null, { what: 'the name to be free' });
    await expectNothingWritten(counts);
  });
});

test('a try after the machine has slept succeeds, although the server is further on than its last sign', async () => {
  let sleptMs = 0;
  // The monotonic clock stands still while a machine sleeps.
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() - sleptMs };
  const locks = await bench.session(redis.port, { leaseMs: LEASE_MS, callTimeoutMs: 1_000, clock });
  for (const kind of KINDS) await warmUp(locks, kind);
  // For longer than a call may take: by what the session knows of the server, its request comes too late.
  await elapse(1_500);
  sleptMs += 1_450;
  for (const kind of KINDS) {
    const lease = await kind.of(locks, bench.name()).tryAcquire();
    expect(await lease?.release()).toBe(true);
  }
});
