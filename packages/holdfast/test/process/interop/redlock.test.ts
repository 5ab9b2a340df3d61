/** Our mutex beside other libraries of the Redlock family, on the same five servers and the same names. */
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Locks } from '../../../src/index.ts';
import { useServers } from '../../fault/quorum/support.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { waitFor } from '../../support/wait-for.ts';
import { CALL_TIMEOUT_MS } from '../limits.ts';
import { type ForeignRedlock, REDLOCKS } from './foreign-redlocks.ts';

const NAME = 'resource';
const LONG_MS = 30_000;
/** Of a lock that nobody releases. */
const LEFT_MS = 4_000;
/** The servers count in whole milliseconds, at both ends. */
const ROUNDING_MS = 2;

const servers = useServers(5);
useLeakCheck(servers, { ignoreKeys: [/^count$/] });
let clients: Redis[];
let locks: Locks;
beforeEach(() => {
  clients = servers.map(({ port }) => new Redis(port));
  locks = new Locks(clients, { callTimeoutMs: CALL_TIMEOUT_MS, nodeTimeoutMs: 3_000, restartGuardMs: 0 });
});
afterEach(async () => {
  await locks.close();
  for (const client of clients) client.disconnect();
});

describe.each(Object.entries(REDLOCKS))('beside %s', (_, makeRedlock) => {
  const once = (): ForeignRedlock =>
    quiet(makeRedlock(clients, { retryCount: 0, retryDelay: 1, retryJitter: 0 }));
  const patient = (): ForeignRedlock =>
    quiet(makeRedlock(clients, { retryCount: 2_000, retryDelay: 10, retryJitter: 10 }));

  function quiet(redlock: ForeignRedlock): ForeignRedlock {
    // They tell each failed attempt as an error event too.
    redlock.on('error', () => {});
    return redlock;
  }

  test('a mutex that they hold keeps us out until they release it', async () => {
    const theirs = await once().acquire([NAME], LONG_MS);
    expect(await locks.mutex(NAME).tryAcquire()).toBeNull();
    await expect(locks.mutex(NAME).acquire({ waitMs: 500 })).rejects.toMatchObject({
      code: 'ELOCKTIMEOUT',
    });
    await theirs.release();
    // They settle with a majority; the others get it a moment later.
    const lease = await waitFor(() => locks.mutex(NAME).tryAcquire());
    expect(await lease.release()).toBe(true);
  });

  test('a mutex that we hold keeps them out until we release it', async () => {
    const lease = await locks.mutex(NAME).acquire();
    await expect(once().acquire([NAME], LONG_MS)).rejects.toThrow(/quorum/i);
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe(true);
    const theirs = await patient().acquire([NAME], LONG_MS);
    expect(await locks.mutex(NAME).tryAcquire()).toBeNull();
    await theirs.release();
  });

  test('a mutex that they leave behind is ours when its time is over', async () => {
    const startedMs = performance.now();
    await once().acquire([NAME], LEFT_MS);
    const lease = await locks.mutex(NAME).acquire();
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(LEFT_MS - ROUNDING_MS);
    expect(await lease.release()).toBe(true);
  });

  test('a counter that both raise is exact', async () => {
    const each = 8;
    const { port } = servers[0] as (typeof servers)[0];
    const raise = async (): Promise<void> => {
      const seen = Number(await ask(port, ['GET', 'count']));
      await ask(port, ['SET', 'count', `${seen + 1}`]);
    };
    const theirs = async (): Promise<void> => {
      const redlock = patient();
      for (let i = 0; i < each; i += 1) {
        // Short, because nobody tells our waiters of their release.
        const lease = await redlock.acquire([NAME], 5_000);
        await raise();
        await lease.release();
      }
    };
    const ours = async (): Promise<void> => {
      for (let i = 0; i < each; i += 1) await locks.mutex(NAME).using(raise);
    };
    await Promise.all([ours(), theirs(), ours(), theirs()]);
    expect(Number(await ask(port, ['GET', 'count']))).toBe(4 * each);
  });
});
