/** A message that somebody released is a hint that may be lost. Nobody who waits may depend on it. */
import { describe, expect, test } from 'vitest';
import { CHANNELS, type WokenMessage } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { untilListening, untilWaiting, waiting } from '../../support/locks/held.ts';
import { untilAsleep, warmUp } from '../../support/locks/warm-up.ts';
import { wokenBy } from '../../support/locks/woken.ts';
import { command } from '../../support/proxies/fault-proxy.ts';
import { ask, asStrings } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { steady } from '../../support/steady.ts';
import { waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();
const STEADY = steady();

const LEASE_MS = 60_000;
/** Nobody sleeps longer without looking. */
const CAP_MS = 5_000;
/** For a machine that is busy with something else. */
const SLACK_MS = 15_000;
const TRIES_MAX = 5;

describe.each(MATRIX)('$client, $kind.name: a waiter is served', ({ client, kind }) => {
  test('when its connections drop while the message is on its way', async () => {
    const owner = await bench.session(redis.port, { client, leaseMs: LEASE_MS });
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    const woken = bench.diagnostics<WokenMessage>(CHANNELS.woken);
    /** What woke it, in their order. */
    const serve = async (): Promise<string[]> => {
      const name = bench.name();
      const lease = await kind.of(owner, name).acquire();
      const acquiring = kind.of(locks, name).acquire();
      await untilAsleep(locks, proxy, kind, name);
      proxy.freeze();
      expect(await lease.release()).toBe(true);
      proxy.cutAll();
      proxy.thaw();
      expect(await (await acquiring).release()).toBe(true);
      const reasons = woken.filter(({ lock }) => lock === name).map(({ reason }) => reason);
      // It is lost.
      expect(reasons).not.toContain('message');
      return reasons;
    };
    // Nor by its own timer, which is due after a second: on a busy machine that may be first now and then.
    let reasons: string[] = [];
    for (let tries = 0; tries < TRIES_MAX && reasons.at(-1) !== 'resync'; tries += 1) reasons = await serve();
    expect(reasons.at(-1)).toBe('resync');
  });

  test('when the release came before it subscribed', async () => {
    const owner = await bench.session(redis.port, { client, leaseMs: LEASE_MS });
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    const woken = bench.diagnostics<WokenMessage>(CHANNELS.woken);
    const name = bench.name();
    const lease = await kind.of(owner, name).acquire();
    // The server has said "held" and the waiter has not heard it yet.
    const answered = proxy.delayReply(kind.acquires, 200);
    const acquiring = kind.of(locks, name).acquire();
    await answered;
    // However long the rest takes.
    proxy.freeze();
    expect(await waiting(redis.port, name)).toBe(0);
    expect(await lease.release()).toBe(true);
    proxy.thaw();
    expect(await (await acquiring).release()).toBe(true);
    // The attempt behind the subscription found it: there was no sleep to be woken from.
    expect(woken.filter(({ lock }) => lock === name)).toEqual([]);
  });

  test('when the release came before it knew that it was subscribed', async () => {
    const owner = await bench.session(redis.port, { client, leaseMs: LEASE_MS });
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    const woken = bench.diagnostics<WokenMessage>(CHANNELS.woken);
    const name = bench.name();
    const lease = await kind.of(owner, name).acquire();
    const confirmed = proxy.delayReply(command('SUBSCRIBE'), 200);
    const acquiring = kind.of(locks, name).acquire();
    await confirmed;
    proxy.freeze();
    expect(asStrings(await ask(redis.port, ['PUBSUB', 'CHANNELS', 'holdfast_session:*']))).toHaveLength(1);
    expect(await lease.release()).toBe(true);
    proxy.thaw();
    expect(await (await acquiring).release()).toBe(true);
    expect(woken.filter(({ lock, reason }) => lock === name && reason === 'time')).toEqual([]);
  });

  test('when only the connection that it listens on is cut, and by messages once that is back', async () => {
    const [owner, locks] = await Promise.all([
      bench.session(redis.port, { client, leaseMs: LEASE_MS }),
      bench.session(redis.port, { client, leaseMs: LEASE_MS }),
    ]);
    const cut = bench.name();
    const lease = await kind.of(owner, cut).acquire();
    const acquiring = kind.of(locks, cut).acquire();
    await untilWaiting(redis.port, cut);
    expect(Number(await ask(redis.port, ['CLIENT', 'KILL', 'TYPE', 'pubsub']))).toBeGreaterThan(0);
    expect(await lease.release()).toBe(true);
    expect(await (await acquiring).release()).toBe(true);
    const after = bench.name();
    const second = await kind.of(owner, after).acquire();
    const again = kind.of(locks, after).acquire();
    await untilWaiting(redis.port, after);
    const served = await wokenBy(after, async () => expect(await second.release()).toBe(true), again);
    expect(await served.release()).toBe(true);
  });

  test('when the lock runs out without a word, by the time it was told', async () => {
    const locks = await bench.session(redis.port, { client });
    await warmUp(locks, kind);
    const woken = bench.diagnostics<WokenMessage>(CHANNELS.woken);
    const name = bench.name();
    const startMs = performance.now();
    await kind.seize(redis.port, name, 1_500);
    const lease = await kind.of(locks, name).acquire();
    const tookMs = performance.now() - startMs;
    expect(await lease.release()).toBe(true);
    expect(tookMs).toBeGreaterThanOrEqual(1_499);
    // That it is the time it was told, and not the longest sleep, is shown by a clock that is ours: `locking/seeking.test.ts`.
    expect(tookMs).toBeLessThan(CAP_MS + SLACK_MS);
    expect(woken.filter(({ lock }) => lock === name).map(({ reason }) => reason)).toContain('time');
  });
});

test('nobody waits longer than five seconds for a release of which nothing is heard', async () => {
  await ask(redis.port, [
    'ACL',
    'SETUSER',
    'mute',
    'on',
    '>secret',
    'allcommands',
    'allkeys',
    'resetchannels',
  ]);
  bench.onEnd(async () => {
    await ask(redis.port, ['ACL', 'DELUSER', 'mute']);
  });
  const runs = MATRIX.flatMap(({ client, kind }) => {
    const unheard: Record<string, () => Promise<void>> = {
      /** The owner may not publish. */
      'a mute owner': async () => {
        const owner = await bench.session(redis.port, {
          client,
          username: 'mute',
          password: 'secret',
          leaseMs: LEASE_MS,
        });
        const locks = await bench.session(redis.port, { client, leaseMs: LEASE_MS });
        const name = bench.name();
        const lease = await kind.of(owner, name).acquire();
        const acquiring = kind.of(locks, name).acquire();
        await untilWaiting(redis.port, name);
        expect(await lease.release()).toBe(true);
        const releasedMs = performance.now();
        expect(await (await acquiring).release()).toBe(true);
        expect(performance.now() - releasedMs).toBeLessThan(CAP_MS + SLACK_MS);
      },
      /** Somebody deletes the key by hand. */
      'a deleted key': async () => {
        const locks = await bench.session(redis.port, { client, leaseMs: LEASE_MS });
        const name = bench.name();
        await kind.seize(redis.port, name, LEASE_MS);
        const acquiring = kind.of(locks, name).acquire();
        await untilListening(redis.port, kind, name);
        expect(await ask(redis.port, ['DEL', name])).toBe(1);
        const releasedMs = performance.now();
        expect(await (await acquiring).release()).toBe(true);
        expect(performance.now() - releasedMs).toBeLessThan(CAP_MS + SLACK_MS);
      },
      /** The waiter may not listen. */
      'a deaf waiter': async () => {
        const owner = await bench.session(redis.port, { client, leaseMs: LEASE_MS });
        const locks = await bench.session(redis.port, {
          client,
          username: 'mute',
          password: 'secret',
          leaseMs: LEASE_MS,
        });
        const name = bench.name();
        const lease = await kind.of(owner, name).acquire();
        const acquiring = kind.of(locks, name).acquire();
        await waitFor(
          async () => String(await ask(redis.port, ['ACL', 'LOG'])).includes(kind.channel(name)),
          {
            what: 'the subscription to be refused',
          },
        );
        expect(await lease.release()).toBe(true);
        const releasedMs = performance.now();
        expect(await (await acquiring).release()).toBe(true);
        expect(performance.now() - releasedMs).toBeLessThan(CAP_MS + SLACK_MS);
      },
    };
    return Object.entries(unheard).map(async ([what, run]) => {
      await run().catch((cause: unknown) => {
        throw new Error(`${client}, ${kind.name}, ${what}`, { cause });
      });
    });
  });
  await Promise.all(runs);
});

test(
  'a waiter whose subscription was cut before the server saw it does not sleep for seconds without one',
  STEADY,
  async () => {
    const runs = MATRIX.map(async ({ client, kind }) => {
      const proxy = await bench.proxy(redis.port);
      const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
      const other = await bench.session(redis.port);
      const name = bench.name();
      await kind.seize(redis.port, name, LEASE_MS);
      const cut = proxy.cutBeforeRequest(command('SUBSCRIBE'));
      const acquiring = kind.of(locks, name).acquire();
      await cut;
      // The server is there: it is asked again as after any lost connection, and well before the cap.
      const cutMs = performance.now();
      await untilListening(redis.port, kind, name);
      expect(performance.now() - cutMs).toBeLessThan(3_000);
      expect(await other.forceRelease(name)).toBe(kind.shown(kind.foreignOwner));
      expect(await (await acquiring).release()).toBe(true);
    });
    await Promise.all(runs);
  },
);
