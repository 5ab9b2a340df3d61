/** A server that hangs or refuses costs one deadline once; then it is skipped, and asked again behind the scenes. */
import { describe, expect, test } from 'vitest';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS, LOCK, MUTEX } from '../../support/locks/kind.ts';
import { steady } from '../../support/steady.ts';
import { waitFor } from '../../support/wait-for.ts';
import { timed, useQuorumBench, useServers } from './support.ts';

const servers = useServers(5);
useLeakCheck(servers);
const quorum = useQuorumBench(servers);
const STEADY = steady();

/** Far above what a healthy server takes, far below what a test may take. */
const DEADLINE_MS = 5_000;
const ROUNDS = 10;

describe('of five servers', STEADY, () => {
  test('one that freezes costs no more than one deadline, and nothing after', async () => {
    const locks = await quorum.assembled(LOCK, { nodeTimeoutMs: DEADLINE_MS });
    const name = quorum.name();
    const lock = locks.lock(name);
    quorum.server(0).freeze();
    const [, firstMs] = await timed(async () => (await lock.acquire()).release());
    expect(firstMs).toBeLessThan(2 * DEADLINE_MS);
    await waitFor(async () => {
      const [, tookMs] = await timed(async () => (await lock.acquire()).release());
      return tookMs < DEADLINE_MS / 4;
    });
    const [, tookMs] = await timed(async () => {
      for (let i = 0; i < ROUNDS; i += 1) await (await lock.acquire()).release();
    });
    expect(tookMs).toBeLessThan(DEADLINE_MS);
    await quorum.untilFree(LOCK, name);
  });

  test('one that is frozen from the start costs the first caller a moment, and the next ones nothing', async () => {
    quorum.server(0).freeze();
    const locks = quorum.session({ nodeTimeoutMs: DEADLINE_MS });
    const name = quorum.name();
    const mutex = locks.mutex(name);
    await (await mutex.acquire()).release();
    // That they cost nothing is told to the millisecond where the clock is ours: see `topologies/quorum/quorum.test.ts`.
    const [, tookMs] = await timed(async () => {
      for (let i = 0; i < ROUNDS; i += 1) await (await mutex.acquire()).release();
    });
    expect(tookMs).toBeLessThan(ROUNDS * DEADLINE_MS);
    await quorum.untilFree(MUTEX, name);
  });

  test('two that are killed are not missed', async () => {
    const locks = await quorum.assembled(LOCK);
    const lock = locks.lock(quorum.name());
    await Promise.all([quorum.server(1).kill(), quorum.server(3).kill()]);
    for (let i = 0; i < ROUNDS; i += 1) {
      await using lease = await lock.acquire();
      expect(lease.isHeld).toBe(true);
    }
  });

  test('one that comes back votes again', async () => {
    for (const kind of KINDS) {
      const locks = await quorum.assembled(kind, { nodeTimeoutMs: 100 });
      const name = quorum.name();
      quorum.server(2).freeze();
      await waitFor(async () => {
        await (await kind.of(locks, name).acquire()).release();
        const servers = await quorum.voters(kind, name);
        return servers.length === 0;
      });
      await quorum.resume([2]);
      await quorum.assemble(locks, kind);
    }
  });

  test('one that hangs does not hold up a look at a lock', async () => {
    const locks = await quorum.assembled(MUTEX, { nodeTimeoutMs: 100, callTimeoutMs: 20_000 });
    const name = quorum.name();
    quorum.server(4).freeze();
    const lease = await locks.mutex(name).acquire();
    await waitFor(async () => {
      const [found, tookMs] = await timed(() => locks.inspect(name));
      expect(found).toMatchObject({ kind: 'mutex' });
      return tookMs < 5_000;
    });
    const [, tookMs] = await timed(() => locks.inspect(name));
    expect(tookMs).toBeLessThan(15_000);
    expect(await lease.release()).toBe(true);
    await quorum.untilFree(MUTEX, name);
  });

  test('none is given up because this process itself stood still', async () => {
    const locks = await quorum.assembled(MUTEX, { nodeTimeoutMs: 200 });
    const name = quorum.name();
    for (let i = 0; i < 3; i += 1) {
      const trying = locks.mutex(name).tryAcquire();
      // The requests are out, and their answers come while nobody can read them.
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
      const untilMs = performance.now() + 400;
      while (performance.now() < untilMs);
      expect(await (await trying)?.release()).toBe(true);
    }
  });
});
