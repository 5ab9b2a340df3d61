/** Three shops with a hundred buyers each sell one stock that is read and then written, under the lock. */
import { Redis } from 'ioredis';
import type { Entrant } from '../contestant.ts';
import { contended, withControl } from '../field.ts';
import { multipleOf, withBestPeer, withRatio } from '../ratio.ts';
import { inRounds, type Measures } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { sum } from '../statistics.ts';
import { tableOf } from '../table.ts';
import { Team } from '../team.ts';

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

async function playSale(team: Team, admin: Redis, entrant: Entrant, sale: Sale): Promise<Measures> {
  const { key, port, items, limitMs } = sale;
  const stockKey = `${key}:stock`;
  await admin.set(stockKey, items);
  return team.with(entrant, async () => {
    const startedMs = performance.now();
    const results = await team.all(
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
      // Each item sold must be one less in stock.
      violations: sold - (items - left),
    };
  });
}

export const sale: Scenario = {
  name: 'sale',
  async play(context) {
    const { port, isQuick, progress } = context;
    const admin = new Redis(port, '127.0.0.1');
    await using team = new Team(SHOPS, port);
    const extent = isQuick ? { items: 500, limitMs: 600 } : { items: 5_000, limitMs: 6_000 };
    const played = await inRounds(
      withControl(contended(context, YARDSTICK), context),
      { title: 'inventory sale', rounds: isQuick ? 2 : 5, progress },
      (entrant, round) =>
        playSale(team, admin, entrant, { key: `sale:${entrant.id}:${round}`, port, ...extent }),
    );
    admin.disconnect();
    const compared = withRatio(played, 'speed', () => YARDSTICK, multipleOf('perSecond'));
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
      },
      withBestPeer(compared, 'overBest', 'perSecond'),
    );
    return [table];
  },
};
