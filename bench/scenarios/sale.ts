/** Three shops with a hundred buyers each sell one stock that is read and then written, under the lock. */
import { Redis } from 'ioredis';
import type { Measures } from '../measure/outcome.ts';
import { multipleOf, withBestPeer, withRatio } from '../measure/ratio.ts';
import { sum } from '../measure/statistics.ts';
import { tableOf } from '../output/table.ts';
import type { Participant } from '../participants/participant.ts';
import { contended, withControl } from '../participants/selection.ts';
import { inRounds } from '../run/rounds.ts';
import { WorkerPool } from '../workers/worker-pool.ts';
import { extentOf, type Scenario } from './scenario.ts';

const SHOPS = 3;
const BUYERS = 100;
const YARDSTICK = 'token-passing';
const SLACK_MS = 5_000;

interface Sale {
  readonly key: string;
  readonly port: number;
  readonly items: number;
  readonly limitMs: number;
}

async function measureSale(
  pool: WorkerPool,
  admin: Redis,
  participant: Participant,
  sale: Sale,
): Promise<Measures> {
  const { key, port, items, limitMs } = sale;
  const stockKey = `${key}:stock`;
  await admin.set(stockKey, items);
  return pool.with(participant, async () => {
    const startedMs = performance.now();
    const results = await pool.all(
      'buy',
      { key, port, stockKey, buyers: BUYERS, limitMs },
      limitMs + SLACK_MS,
    );
    const seconds = (performance.now() - startedMs) / 1000;
    const sold = sum(results.map((result) => result.sold));
    const left = Number(await admin.get(stockKey));
    return {
      perSecond: sold / seconds,
      sold: sold / items,
      gaveUp: sum(results.map(({ gaveUp }) => gaveUp)),
      // Items sold that are still in stock: two buyers have sold the same item.
      violations: sold - (items - left),
    };
  });
}

export const sale: Scenario = {
  name: 'sale',
  async measure(context) {
    const { port, progress } = context;
    const admin = new Redis(port, '127.0.0.1');
    await using pool = new WorkerPool(SHOPS, port);
    const { rounds, ...extent } = extentOf(
      context,
      { rounds: 2, items: 500, limitMs: 600 },
      { rounds: 5, items: 5_000, limitMs: 6_000 },
    );
    const measured = await inRounds(
      withControl(contended(context, YARDSTICK), context),
      { title: 'inventory sale', rounds, progress },
      (participant, round) =>
        measureSale(pool, admin, participant, { key: `sale:${participant.id}:${round}`, port, ...extent }),
    );
    admin.disconnect();
    const compared = withRatio(measured, 'speed', () => YARDSTICK, multipleOf('perSecond'));
    const table = tableOf(
      {
        id: 'sale',
        title: `Inventory sale: ${SHOPS} processes × ${BUYERS} buyers, ${extent.items.toLocaleString('en')} items`,
        about: `Under the lock a buyer reads the stock from Redis and writes it less one: two round trips. Until it is sold out, for ${extent.limitMs / 1000} s at most. Speed in items sold as a multiple of bare token passing; an item sold that is still in stock is a violation.`,
        columns: [
          { key: 'speed', title: 'speed, token passing = 1', digits: 2, hasSpread: true },
          { key: 'overBest', title: '× best peer', digits: 1 },
          { key: 'sold', title: 'share sold in time', digits: 2 },
          { key: 'gaveUp', title: 'gave up', digits: 0, isTotal: true },
          { key: 'violations', title: 'violations', digits: 0, isTotal: true },
        ],
        chart: 'speed',
        compared: [{ key: 'perSecond', title: 'items sold a second', better: 'more' }],
      },
      withBestPeer(compared, 'overBest', 'perSecond'),
    );
    return [table];
  },
};
