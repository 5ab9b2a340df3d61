/** How an acquisition got its lock, on a real server: each way there is. */
import { expect, test } from 'vitest';
import { CHANNELS, type HandedOverMessage, type Inspection, type LockTrace } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { LOCK } from '../../support/locks/kind.ts';
import { untilAsleep, warmUp } from '../../support/locks/warm-up.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

function listening() {
  const acquired = bench.diagnostics<LockTrace>(`tracing:${CHANNELS.acquire}:asyncEnd`);
  const handovers = bench.diagnostics<HandedOverMessage>(CHANNELS.handedOver);
  return {
    /** Of the acquisitions of that name. */
    viasOf: (name: string) => acquired.filter(({ lock }) => lock === name).map(({ via }) => via),
    scopesOf: (name: string) => handovers.filter(({ lock }) => lock === name).map(({ scope }) => scope),
  };
}

/** Whether an attempt or a message comes first is the machine's to say, so each is done until it was the wanted one. */
async function until(
  what: string,
  heard: () => readonly unknown[],
  work: () => Promise<void>,
): Promise<void> {
  await waitFor(
    async () => {
      await work();
      return heard().includes(what);
    },
    { what: `an acquisition by ${what}`, limitMs: 60_000 },
  );
}

const waitersOf = (found: Inspection | null): number =>
  found !== null && 'waiters' in found ? found.waiters : 0;

test('from an owner in another process: the line', async () => {
  const [one, two] = [await bench.session(redis.port), await bench.session(redis.port)];
  await Promise.all([warmUp(one, LOCK, 'one'), warmUp(two, LOCK, 'two')]);
  const heard = listening();
  const name = bench.name();
  await until(
    'line',
    () => heard.viasOf(name),
    async () => {
      const lease = await one.lock(name).acquire();
      const waiting = two.lock(name).acquire();
      await waitFor(async () => waitersOf(await one.inspect(name)) > 0, { what: 'a waiter in the line' });
      expect(await lease.release()).toBe(true);
      expect(await (await waiting).release()).toBe(true);
    },
  );
  expect(heard.scopesOf(name)).toEqual(['line']);
});

test('from a guest: a message, or the end of its lease', async () => {
  const proxy = await bench.proxy(redis.port);
  const locks = await bench.session(proxy.port);
  const heard = listening();
  const [told, late] = [bench.name(), bench.name()];
  await until(
    'message',
    () => heard.viasOf(told),
    async () => {
      await LOCK.seize(redis.port, told, 60_000);
      const waiting = locks.lock(told).acquire();
      await untilAsleep(locks, proxy, LOCK, told);
      await ask(redis.port, ['DEL', told]);
      await ask(redis.port, ['PUBLISH', LOCK.channel(told), '0']);
      expect(await (await waiting).release()).toBe(true);
    },
  );
  await until(
    'timer',
    () => heard.viasOf(late),
    async () => {
      await LOCK.seize(redis.port, late, 1_000);
      expect(await (await locks.lock(late).acquire()).release()).toBe(true);
    },
  );
  expect([heard.scopesOf(told), heard.scopesOf(late)]).toEqual([[], []]);
});

test('from the same process: a hand-over, a re-entry, or a hold that was kept', async () => {
  const locks = await bench.session(redis.port, { handoverMs: 60_000 });
  await warmUp(locks, LOCK);
  const heard = listening();
  const name = bench.name();
  const lease = await locks.lock(name).acquire();
  const waiting = locks.lock(name).acquire();
  const inner = await locks.lock(name).acquire({ within: lease });
  await inner.release();
  await lease.release();
  await (await waiting).release();
  expect(heard.viasOf(name)).toEqual(['free', 'reentry', 'local']);
  expect(heard.scopesOf(name)).toEqual(['local']);
  const kept = bench.name();
  const caching = await bench.session(redis.port, { lingerMs: 10_000 });
  // A hold can be kept once the session hears that it is wanted.
  await waitFor(
    async () => {
      await (await caching.lock(kept).acquire()).release();
      return heard.viasOf(kept).includes('linger');
    },
    { what: 'a hold that was kept' },
  );
  expect(new Set(heard.viasOf(kept))).toEqual(new Set(['free', 'linger']));
  expect(new Set(heard.scopesOf(kept))).toEqual(new Set(['linger']));
  await caching.close();
});
