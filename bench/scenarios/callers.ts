/** Many callers at once, each on a key of its own, over one connection: acquire and release without contention. */
import { closeAll, openAll } from '../blocks.ts';
import type { Contestant } from '../contestant.ts';
import { within } from '../deadline.ts';
import { uncontended } from '../field.ts';
import { multipleOf, rawOf, withRatio } from '../ratio.ts';
import { inRounds, type Measures } from '../rounds.ts';
import type { Context, Scenario } from '../scenario.ts';
import { type Table, tableOf } from '../table.ts';

const SIZES = [64, 256];
const SLACK_MS = 5_000;

async function playFor(
  contestant: Contestant,
  prefix: string,
  callers: number,
  limitMs: number,
): Promise<number> {
  let pairs = 0;
  const startedMs = performance.now();
  const call = async (_: unknown, i: number): Promise<void> => {
    while (performance.now() - startedMs < limitMs) {
      const release = await contestant.take(`${prefix}:${i}`);
      await release();
      pairs += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return (pairs / (performance.now() - startedMs)) * 1000;
}

async function playSize(callers: number, context: Context): Promise<Table> {
  const { port, isQuick, progress } = context;
  const entrants = uncontended(context, ['raw-ioredis', 'raw-node-redis']);
  const contestants = await openAll(entrants, (entrant) => entrant.open(port));
  const windowMs = isQuick ? 120 : 700;
  const title = `${callers} callers on distinct keys`;
  const played = await inRounds(
    entrants,
    { title, rounds: isQuick ? 3 : 7, progress },
    async (entrant): Promise<Measures> => {
      const contestant = contestants.get(entrant);
      if (contestant === undefined) throw new Error('expected an open contestant');
      const play = async (): Promise<number> => {
        await playFor(contestant, entrant.id, callers, windowMs / 3);
        return playFor(contestant, entrant.id, callers, windowMs);
      };
      return { perSecond: await within(2 * windowMs + SLACK_MS, play()) };
    },
  );
  await closeAll(contestants);
  const outcomes = withRatio(played, 'speed', rawOf, multipleOf('perSecond'));
  return tableOf(
    {
      id: `callers-${callers}`,
      title: `${callers} callers on distinct keys, one connection`,
      about:
        'Nobody waits for anybody. Acquires with their releases a second, as a multiple of the same client doing SET NX PX and EVALSHA compare-and-delete for as many callers.',
      columns: [{ key: 'speed', title: 'speed, raw client = 1', digits: 2, hasSpread: true }],
      chart: 'speed',
    },
    outcomes,
  );
}

export const callers: Scenario = {
  name: 'callers',
  async play(context) {
    const tables: Table[] = [];
    for (const size of SIZES) tables.push(await playSize(size, context));
    return tables;
  },
};
