/** Votes that are split between callers: all back off, one wins, and nobody waits for ever. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type Lease, type Locks, LockTimeoutError } from '../../../src/index.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { answered } from '../../support/locks/answered.ts';
import { KINDS, type Kind, LOCK, MUTEX } from '../../support/locks/kind.ts';
import type { FaultProxy } from '../../support/proxies/fault-proxy.ts';
import { rejection } from '../../support/rejection.ts';
import { askAll } from '../../support/servers/raw-redis.ts';
import { steady } from '../../support/steady.ts';
import { always } from '../../support/violation.ts';
import { waitFor } from '../../support/wait-for.ts';
import { QuorumBench, timed, useQuorumBench, useServers } from './support.ts';

const servers = useServers(5);
useLeakCheck(servers, { ignoreKeys: [/redisson_lock_token:/, /^foreign/] });
const bench = useQuorumBench(servers);
const STEADY = steady();

/** By default a poll gives up after a second. */
const PATIENT = { timeout: 10_000 };

/** The first of the five only. */
function some(count: number): QuorumBench {
  return new QuorumBench(servers.slice(0, count), bench.bench);
}

/** Holds it for a moment, and says so if somebody else does too. */
async function take(locks: Locks, kind: Kind, name: string, inside: Set<string>): Promise<void> {
  await using lease: Lease = await kind.of(locks, name).acquire({ waitMs: 60_000 });
  always(() => expect([...inside]).toEqual([]));
  inside.add(locks.session);
  await new Promise((resolve) => setTimeout(resolve, 5));
  inside.delete(locks.session);
  expect(lease.isHeld).toBe(true);
}

/** Two of the five for one stranger, two for another. */
async function split(): Promise<string> {
  const name = `foreign ${bench.name()}`;
  await bench.take(LOCK, name, [0, 1]);
  for (const i of [2, 3]) {
    await askAll(bench.server(i).port, [
      ['HSET', name, '00000000-0000-4000-8000-000000000000:2', '1'],
      ['PEXPIRE', name, '60000'],
    ]);
  }
  return name;
}

/** An even number is warned about, and that is heard here rather than on the terminal. */
beforeEach(() => {
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  bench.bench.onEnd(() => spy.mockRestore());
});

describe.each([2, 3, 4, 5])('on %i servers', { timeout: 120_000 }, (count) => {
  test.each(KINDS)('several who want a $name at the same moment get it one after the other', async (kind) => {
    const quorum = some(count);
    const sessions = await Promise.all([1, 2, 3].map(() => quorum.assembled(kind)));
    const name = quorum.name();
    const inside = new Set<string>();
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(sessions.map((locks) => take(locks, kind, name, inside)));
    }
    await quorum.untilFree(kind, name);
  });
});

describe('a vote that is split', STEADY, () => {
  test.each([
    [2, [0]],
    [4, [0, 1]],
  ])('evenly between the callers of %i servers settles for nobody', async (count, theirs) => {
    const quorum = some(count);
    for (const kind of KINDS) {
      const locks = await quorum.assembled(kind);
      const name = `foreign ${quorum.name()}`;
      await quorum.take(kind, name, theirs);
      const [lease, tookMs] = await timed(() => kind.of(locks, name).tryAcquire());
      expect(lease).toBeNull();
      expect(tookMs).toBeLessThan(15_000);
      // Theirs stands, ours is gone.
      await expect.poll(() => quorum.voters(kind, name), PATIENT).toEqual(theirs);
    }
  });

  test('is a wait that ends in LockTimeoutError, like any other', async () => {
    const locks = await bench.assembled(LOCK);
    const name = await split();
    let tookMs = 0;
    const error = await answered(async () => {
      const [told, ms] = await timed(() => rejection(locks.lock(name).acquire({ waitMs: 500 })));
      tookMs = ms;
      throw told;
    });
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error).toMatchObject({ message: expect.stringContaining('split') });
    expect(tookMs).toBeLessThan(15_000);
    await expect.poll(() => bench.voters(LOCK, name), PATIENT).toEqual([0, 1, 2, 3]);
  });

  test('is tried again as often as the option says, and not more often', async () => {
    const proxies = await bench.proxies();
    const locks = await bench.assembled(LOCK, { splitVotesMax: 3 }, proxies);
    const name = await split();
    const attempts = (): readonly unknown[] =>
      (proxies[0] as FaultProxy).history.filter((args) => LOCK.acquires(args) && args.includes(name));
    expect(await rejection(locks.lock(name).acquire())).toBeInstanceOf(LockTimeoutError);
    await waitFor(() => attempts().length >= 4, { what: 'the last of them to come by' });
    expect(attempts()).toHaveLength(4);
  });

  test('between our own earlier attempt and nobody is won by the next one', async () => {
    // One server has our vote of an attempt whose answer was lost, one has somebody's who leaves.
    const quorum = some(3);
    const proxies = await quorum.proxies();
    const locks = await quorum.assembled(MUTEX, { nodeTimeoutMs: 2_000 }, proxies);
    const name = `foreign ${quorum.name()}`;
    await quorum.take(MUTEX, name, [1], 800);
    await quorum.take(MUTEX, name, [2], 60_000);
    const lost = (proxies[0] as FaultProxy).cutAfterRequest(
      (args) => MUTEX.acquires(args) && args.includes(name),
    );
    const waiting = locks.mutex(name).acquire();
    await lost;
    const [lease, tookMs] = await timed(() => waiting);
    // The sooner of their two times, and not the later one, nor when it would look without being told.
    expect(tookMs).toBeLessThan(3_500);
    expect(await lease.release()).toBe(true);
  });
});
