/** How much traffic a held lease makes, from four milliseconds to a year: no length of lease makes a storm. */

import { expect, test } from 'vitest';
import { type Lease, type LockError, LockUnavailableError, LockUnknownError } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import type { FaultProxy } from '../../support/proxies/fault-proxy.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { steady } from '../../support/steady.ts';
import { elapse } from '../../support/wait-for.ts';

import { MATRIX } from '../matrix.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
const WATCH_MS = 1_000;
/** Acquire, release, and the texts of the scripts that the server did not know yet. */
const CALLS_BESIDE = 10;
/** A lease that is over before its grant can be heard is asked for again more and more slowly. */
const CALLS_IN_VAIN_MAX = 24;

const server = useRedis();
useLeakCheck(server);
const bench = useBench();
const STEADY = steady();

const scriptCalls = (proxy: FaultProxy): number =>
  proxy.history.filter(([verb = '']) => /^eval/i.test(verb)).length;

/** A lease of a few milliseconds may be over before it is heard of, and then it is an outage; nothing else is. */
function unlessOver(error: unknown): null {
  if (error instanceof LockUnavailableError || error instanceof LockUnknownError) return null;
  throw error;
}

interface Watched {
  readonly leaseMs: number;
  readonly calls: number;
  readonly lease: Lease | null;
  readonly tookMs: number;
}

type MatrixRow = (typeof MATRIX)[number];

/** Holds, or tries to hold, a lock of each length for a second, and counts what the server is asked to do for it. */
async function hold(
  rows: readonly { readonly row: MatrixRow; readonly leaseMs: number }[],
): Promise<Watched[]> {
  const ready = [];
  // All sessions first: making a client of node-redis keeps the event loop from turning.
  for (const { row, leaseMs } of rows) {
    const proxy = await bench.proxy(server.port);
    const locks = await bench.session(proxy.port, { client: row.client });
    // A first connection can take longer than the wait for a lock of a moment.
    await warmUp(locks, row.kind);
    proxy.clearHistory();
    ready.push({ leaseMs, proxy, lock: row.kind.of(locks, bench.name()) });
  }
  return await Promise.all(
    ready.map(async ({ leaseMs, proxy, lock }) => {
      const beforeMs = performance.now();
      const lease = await lock.acquire({ leaseMs, waitMs: WATCH_MS }).catch(unlessOver);
      await elapse(WATCH_MS);
      return { leaseMs, calls: scriptCalls(proxy), lease, tookMs: performance.now() - beforeMs };
    }),
  );
}

function expectFewCalls(all: readonly Watched[]): void {
  for (const { leaseMs, calls, tookMs } of all) {
    const most = (4 * tookMs) / leaseMs + CALLS_BESIDE + (leaseMs < 10 ? CALLS_IN_VAIN_MAX : 0);
    expect(calls, `calls with a lease of ${leaseMs} ms`).toBeLessThanOrEqual(most);
  }
}

test.each(MATRIX)(
  'a $kind.name on $client makes at most four calls a lease, also when that is a moment',
  async (row) => {
    const all = await hold([4, 5, 10, 50].map((leaseMs) => ({ row, leaseMs })));
    expectFewCalls(all);
    await Promise.all(all.map(({ lease }) => lease?.release()));
  },
);

test('a lease of a second or so makes at most four calls, and is kept by them', STEADY, async () => {
  const lengths = [300, 1_000, 1_250, 1_251, 2_000];
  const all = await hold(MATRIX.flatMap((row) => lengths.map((leaseMs) => ({ row, leaseMs }))));
  expectFewCalls(all);
  // Held past the end of their first lease: nothing above passes because nothing is sent.
  for (const { lease, leaseMs } of all) {
    if (leaseMs < 1_000) continue;
    lease?.signal.throwIfAborted();
    expect(lease?.isHeld, `${leaseMs} ms`).toBe(true);
  }
  await Promise.all(all.map(({ lease }) => lease?.release()));
});

test('a lease of a month or a year makes no call while it is held', async () => {
  const rows = MATRIX.flatMap((row) => [30 * DAY_MS, 365 * DAY_MS].map((leaseMs) => ({ row, leaseMs })));
  const all = await hold(rows);
  for (const { calls, lease } of all) {
    // The acquire, by its hash and by its text.
    expect(calls).toBeLessThanOrEqual(2);
    expect(lease?.isHeld).toBe(true);
    expect(lease?.remainingMs).toBeGreaterThan(29 * DAY_MS);
    expect(await lease?.release()).toBe(true);
  }
});

const TOO_SHORT = KINDS.flatMap((kind) => [4, 5].map((leaseMs) => ({ kind, leaseMs })));
/** Each way: longer than those leases. */
const AWAY_MS = 10;

test('a try with a lease shorter than the way to the server ends as unavailable and leaves no key', async () => {
  await Promise.all(
    TOO_SHORT.map(async ({ kind, leaseMs }) => {
      const name = bench.name();
      const proxy = await bench.proxy(server.port);
      const lock = kind.of(await bench.session(proxy.port), name);
      proxy.delay(AWAY_MS);
      const error = await rejection(lock.tryAcquire({ leaseMs }));
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect(error).toMatchObject({ servers: [{ kind: 'late' }] });
      await elapse(WATCH_MS / 4);
      expect(await ask(server.port, ['EXISTS', name])).toBe(0);
      expect(scriptCalls(proxy)).toBeLessThanOrEqual(CALLS_BESIDE);
    }),
  );
});

test('a wait with a lease shorter than the way to the server ends in an outage, after few calls', async () => {
  await Promise.all(
    TOO_SHORT.map(async ({ kind, leaseMs }) => {
      const proxy = await bench.proxy(server.port);
      const lock = kind.of(await bench.session(proxy.port), bench.name());
      proxy.delay(AWAY_MS);
      const error = await rejection(lock.acquire({ leaseMs, waitMs: WATCH_MS }));
      // Unknown, when the wait was over while the last call was still on its way.
      expect(['ELOCKUNAVAILABLE', 'ELOCKUNKNOWN']).toContain((error as LockError).code);
      expect(scriptCalls(proxy)).toBeLessThanOrEqual(CALLS_IN_VAIN_MAX);
    }),
  );
});
