/** What keeps a lease alive once its owner has let go of the lease object, and what becomes of one that nothing keeps. */
import { expect, test } from 'vitest';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { type Child, startChild, useChildren } from '../../support/processes/child.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import type { KeeperLine, KeeperOrder, Way } from './keeper.ts';
import { SLOW } from './process.ts';

const server = useRedis();
useLeakCheck(server);
const bench = useBench();
useChildren();

/** Long against the pauses of a busy machine: four seconds of silence do not cost a lease. */
const LEASE_MS = 6_000;
const LIMIT_MS = 60_000;

interface Keeper {
  readonly child: Child<KeeperLine>;
  lock(way: Way): string;
  next(fits: (line: KeeperLine) => boolean): Promise<KeeperLine>;
}

async function start(ways: readonly Way[]): Promise<Keeper> {
  const name = bench.name();
  const order: KeeperOrder = { port: server.port, name, leaseMs: LEASE_MS, ways };
  const child = startChild<KeeperLine>('test/fault/holder/keeper.ts', [JSON.stringify(order)]);
  const next = (fits: (line: KeeperLine) => boolean): Promise<KeeperLine> => child.next(fits, LIMIT_MS);
  await next(({ is }) => is === 'held');
  return { child, lock: (way) => `${name}:${way}`, next };
}

async function end({ child, next }: Keeper): Promise<void> {
  child.send('end');
  await next(({ is }) => is === 'end');
  expect(await child.exited).toEqual({ code: 0, signal: null });
}

test(
  'a lease whose signal somebody has asked for is renewed and told of its loss, whatever is kept of the signal',
  SLOW,
  async () => {
    const ways = ['signal', 'listener', 'any', 'anyListener', 'sleep', 'fetch'] as const;
    const keeper = await start(ways);
    for (const lock of ways.map(keeper.lock)) {
      // Abandoned ones are found out when they are due for the second time, or soon after.
      const line = await keeper.next(
        ({ is, times = 0, ...line }) => line.lock === lock && (is === 'abandoned' || times >= 4),
      );
      expect(line).toEqual({ is: 'renewed', lock, times: 4 });
      expect(await ask(server.port, ['DEL', lock])).toBe(1);
    }
    for (const lock of ways.map(keeper.lock)) {
      await keeper.next((line) => line.is === 'told' && line.lock === lock);
    }
    await end(keeper);
    expect(keeper.child.lines.filter(({ is }) => is === 'abandoned' || is === 'warned')).toEqual([]);
  },
);

test(
  'a lock in use is renewed for as long as the body has not ended, whatever that keeps',
  SLOW,
  async () => {
    const keeper = await start(['using']);
    const lock = keeper.lock('using');
    const line = await keeper.next(({ is, times = 0 }) => is === 'abandoned' || times >= 4);
    expect(line).toEqual({ is: 'renewed', lock, times: 4 });
    await end(keeper);
  },
);

test(
  'a lease that nobody keeps is told as abandoned, with a warning once a name, and is lost as abandoned',
  SLOW,
  async () => {
    const keeper = await start(['fence', 'nothing']);
    for (const lock of [keeper.lock('fence'), keeper.lock('nothing')]) {
      await keeper.next((line) => line.is === 'abandoned' && line.lock === lock);
      expect(await keeper.next((line) => line.is === 'lost' && line.lock === lock)).toMatchObject({
        reason: 'abandoned',
      });
    }
    // The same name again: told on the channel, and not warned of a second time.
    keeper.child.send('fence');
    const lock = keeper.lock('fence');
    await keeper.next((line) => line.is === 'abandoned' && line.lock === lock);
    await keeper.next((line) => line.is === 'lost' && line.lock === lock);
    await end(keeper);
    const warnings = keeper.child.lines.filter(({ is }) => is === 'warned');
    expect(warnings.map(({ code }) => code)).toEqual(['HOLDFAST_ABANDONED', 'HOLDFAST_ABANDONED']);
    const texts = warnings.map(({ text = '' }) => text).sort();
    expect(texts[0]).toContain(`lock "${lock}"`);
    expect(texts[1]).toContain(`lock "${keeper.lock('nothing')}"`);
  },
);
