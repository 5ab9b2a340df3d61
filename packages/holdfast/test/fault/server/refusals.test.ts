/** A server that is there and refuses to write: told by its own words, waited out, and no key is left over. */
import { describe, expect, test } from 'vitest';
import {
  CHANNELS,
  type LateReleaseMessage,
  LockLostError,
  type Locks,
  LockUnavailableError,
} from '../../../src/index.ts';
import { type ClientKind, type SessionOptions, useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { answered } from '../../support/locks/answered.ts';
import { held, untilFree } from '../../support/locks/held.ts';
import type { Kind } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { steady } from '../../support/steady.ts';
import { elapse, waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';
import { CONDITION_ARGS, CONDITIONS } from './conditions.ts';

const redis = useRedis({ args: CONDITION_ARGS });
useLeakCheck(redis);
const bench = useBench();
const STEADY = steady();

interface Cell {
  readonly client: ClientKind;
  readonly kind: Kind;
  readonly locks: Locks;
  readonly name: string;
}

/** All clients and kinds at once, because the server is in one state for all of them. */
async function openCells(options: SessionOptions = {}): Promise<Cell[]> {
  return Promise.all(
    MATRIX.map(async ({ client, kind }) => {
      const locks = await bench.session(redis.port, { client, ...options });
      const name = bench.name();
      expect(await (await kind.of(locks, name).acquire({ leaseMs: 60_000 })).release()).toBe(true);
      return { client, kind, locks, name };
    }),
  );
}

async function inEach<T extends { readonly client: ClientKind; readonly kind: Kind }, Result>(
  cells: readonly T[],
  run: (cell: T) => Promise<Result>,
): Promise<(T & { readonly result: Result })[]> {
  return Promise.all(
    cells.map(async (cell) => {
      try {
        return { ...cell, result: await run(cell) };
      } catch (cause) {
        throw new Error(`${cell.client}, ${cell.kind.name}: ${String(cause)}`, { cause });
      }
    }),
  );
}

describe.each(CONDITIONS)('a server that answers $word', (condition) => {
  const { word, letsGo } = condition;

  async function during<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      await condition.begin(redis);
      return await work();
    } finally {
      await condition.end(redis);
    }
  }

  function expectRefused(error: unknown, name: string): void {
    expect(error).toBeInstanceOf(LockUnavailableError);
    const servers = [{ kind: 'reply', text: expect.stringMatching(new RegExp(`^${word} `)) }];
    expect(error).toMatchObject({ lock: name, servers });
  }

  test('fails a try at once and a short wait at its end, and serves a long one when it writes again', async () => {
    const cells = await openCells();
    const patient = await during(() =>
      inEach(cells, async ({ kind, locks, name }) => {
        const startMs = performance.now();
        expectRefused(await rejection(kind.of(locks, `${name}:try`).tryAcquire()), `${name}:try`);
        expect(performance.now() - startMs).toBeLessThan(30_000);
        const short = `${name}:short`;
        expectRefused(await answered(() => kind.of(locks, short).acquire({ waitMs: 1_000 })), short);
        const served = kind.of(locks, name).using(() => 'served');
        await elapse(200);
        // A promise inside an object is not awaited on the way out.
        return { served };
      }),
    );
    await inEach(patient, async ({ kind, name, result }) => {
      expect(await result.served).toBe('served');
      expect(await held(redis.port, kind, `${name}:try`)).toBeNull();
      expect(await held(redis.port, kind, `${name}:short`)).toBeNull();
    });
  });

  test('does not cost a lease that outlasts it', STEADY, async () => {
    const cells = await openCells({ leaseMs: 4_800 });
    const owners = await inEach(cells, ({ kind, locks, name }) => kind.of(locks, name).acquire());
    const startMs = performance.now();
    // Longer than a renewal may wait, shorter than the lease. Some of them take their time to begin.
    await during(() => elapse(Math.max(200, 2_400 - (performance.now() - startMs))));
    await elapse(5_000 - (performance.now() - startMs));
    for (const { result: lease } of owners) lease.signal.throwIfAborted();
    await inEach(owners, async ({ result: lease }) => {
      expect(lease.isHeld).toBe(true);
      expect(lease.signal.aborted).toBe(false);
      expect(await lease.release()).toBe(true);
    });
  });

  if (!letsGo)
    test('costs a lease that it outlasts, and the key is removed when it writes again', async () => {
      const cells = await openCells({ leaseMs: 600 });
      const owners = await inEach(cells, ({ kind, locks, name }) => kind.of(locks, name).acquire());
      await during(() =>
        inEach(owners, async ({ result: lease }) => {
          await waitFor(() => lease.signal.aborted, { what: 'the loss to be told' });
          expect(lease.isHeld).toBe(false);
          expect(lease.signal.reason).toBeInstanceOf(LockLostError);
          expect(lease.signal.reason).toMatchObject({ reason: 'expired' });
          expect(await lease.release()).toBe(false);
        }),
      );
      await inEach(cells, ({ kind, name }) => untilFree(redis.port, kind, name));
    });

  if (!letsGo)
    test('fails a release with its words, and the release is repeated until it is done', async () => {
      const late = bench.diagnostics<LateReleaseMessage>(CHANNELS.lateRelease);
      const cells = await openCells({ leaseMs: 60_000 });
      const owners = await inEach(cells, ({ kind, locks, name }) => kind.of(locks, name).acquire());
      await during(() =>
        inEach(owners, async ({ result: lease, name }) => {
          expectRefused(await rejection(lease.release()), name);
          expect(lease.isHeld).toBe(false);
          expect(await lease.release()).toBe(false);
        }),
      );
      await inEach(cells, async ({ kind, name }) => {
        await waitFor(() => late.some(({ lock }) => lock === name), { what: 'the late release' });
        const mine = late.filter(({ lock }) => lock === name);
        expect(mine).toEqual([{ lock: name, kind: kind.name, outcome: 'released' }]);
        expect(await held(redis.port, kind, name)).toBeNull();
      });
    });

  if (!letsGo)
    test('fails an extension with its words, and the lease goes on', async () => {
      const cells = await openCells({ leaseMs: 60_000 });
      const owners = await inEach(cells, ({ kind, locks, name }) => kind.of(locks, name).acquire());
      await during(() =>
        inEach(owners, async ({ result: lease, name }) => {
          expectRefused(await rejection(lease.extend(90_000)), name);
          expect(lease.isHeld).toBe(true);
          expect(lease.remainingMs).toBeGreaterThan(5_000);
        }),
      );
      await inEach(owners, async ({ result: lease }) => {
        await lease.extend(90_000);
        expect(lease.remainingMs).toBeGreaterThan(60_000);
        expect(await lease.release()).toBe(true);
      });
    });

  if (letsGo)
    test('still extends, renews, counts and releases what is held', async () => {
      const cells = await openCells({ leaseMs: 6_000 });
      const owners = await inEach(cells, ({ kind, locks, name }) => kind.of(locks, name).acquire());
      await during(() =>
        inEach(owners, async ({ result: lease, kind, locks, name }) => {
          // It has been renewed when it ends later than it did.
          const endMs = (): number => performance.now() + lease.remainingMs;
          const firstEndMs = endMs();
          await waitFor(() => endMs() > firstEndMs + 500 || !lease.isHeld, { what: 'a renewal' });
          expect(lease.isHeld).toBe(true);
          await lease.extend(60_000);
          expect(lease.remainingMs).toBeGreaterThan(30_000);
          if (kind.name === 'lock') {
            const inner = await locks.lock(name).acquire({ within: lease });
            expect(await inner.release()).toBe(true);
          }
          expect(await lease.release()).toBe(true);
          expect(await held(redis.port, kind, name)).toBeNull();
        }),
      );
    });
});
