/** Many callers at once, each on a key of its own, over one connection: acquire and release without contention. */

import type { Measures } from '../measure/outcome.ts';
import { multipleOf, rawOf, withRatio } from '../measure/ratio.ts';
import { type Table, tableOf } from '../output/table.ts';
import type { OpenParticipant } from '../participants/participant.ts';
import { uncontended } from '../participants/selection.ts';
import { closeAll, openAll } from '../run/open-participants.ts';
import { inRounds } from '../run/rounds.ts';
import { within } from '../run/time-limit.ts';
import { type Context, extentOf, type Scenario } from './scenario.ts';

const SIZES = [64, 256];
const SLACK_MS = 5_000;

/** Pairs of acquire and release a second. */
async function measureFor(
  opened: OpenParticipant,
  prefix: string,
  callers: number,
  limitMs: number,
): Promise<number> {
  let pairs = 0;
  const startedMs = performance.now();
  const call = async (_: unknown, i: number): Promise<void> => {
    while (performance.now() - startedMs < limitMs) {
      const release = await opened.take(`${prefix}:${i}`);
      await release();
      pairs += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return (pairs / (performance.now() - startedMs)) * 1000;
}

async function measureSize(callers: number, context: Context): Promise<Table> {
  const { port, progress } = context;
  const participants = uncontended(context, ['raw-ioredis', 'raw-node-redis']);
  const opened = await openAll(participants, (participant) => participant.open(port));
  const { rounds, windowMs } = extentOf(context, { rounds: 3, windowMs: 120 }, { rounds: 7, windowMs: 700 });
  const title = `${callers} callers on distinct keys`;
  const measured = await inRounds(
    participants,
    { title, rounds, progress },
    async (participant): Promise<Measures> => {
      const each = opened.get(participant);
      if (each === undefined) throw new Error('expected an open participant');
      const warmThenMeasure = async (): Promise<number> => {
        await measureFor(each, participant.id, callers, windowMs / 3);
        return measureFor(each, participant.id, callers, windowMs);
      };
      return { perSecond: await within(2 * windowMs + SLACK_MS, warmThenMeasure()) };
    },
  );
  await closeAll(opened);
  const outcomes = withRatio(measured, 'speed', rawOf, multipleOf('perSecond'));
  return tableOf(
    {
      id: `callers-${callers}`,
      title: `${callers} callers on distinct keys, one connection`,
      about:
        'Nobody waits for anybody. Acquires with their releases a second, as a multiple of the same client doing SET NX PX and EVALSHA compare-and-delete for as many callers.',
      columns: [{ key: 'speed', title: 'speed, raw client = 1', digits: 2, hasSpread: true }],
      chart: 'speed',
      compared: [{ key: 'perSecond', title: 'pairs a second', better: 'more' }],
    },
    outcomes,
  );
}

export const callers: Scenario = {
  name: 'callers',
  async measure(context) {
    const tables: Table[] = [];
    for (const size of SIZES) tables.push(await measureSize(size, context));
    return tables;
  },
};
