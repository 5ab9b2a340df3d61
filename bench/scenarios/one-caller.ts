/** One caller, uncontended acquire and release on distinct keys, as a share of the raw client of the same round. */
import { closeAll, inBlocks, openAll } from '../blocks.ts';
import { uncontended } from '../field.ts';
import { rawOf, withRatio } from '../ratio.ts';
import type { Scenario } from '../scenario.ts';
import { tableOf } from '../table.ts';

export const oneCaller: Scenario = {
  name: 'one-caller',
  async play(context) {
    const { port, isQuick, progress } = context;
    const entrants = uncontended(context, ['raw-ioredis', 'raw-node-redis']);
    const contestants = await openAll(entrants, (entrant) => entrant.open(port));
    const title = 'one caller';
    const extent = isQuick ? { rounds: 3, turns: 15 } : { rounds: 7, turns: 40 };
    const played = await inBlocks(contestants, { title, ...extent, pairs: 50, limitMs: 5_000, progress });
    await closeAll(contestants);
    const outcomes = withRatio(
      played,
      'speed',
      rawOf,
      (own, raw) => (raw['pairMs'] ?? Number.NaN) / (own['pairMs'] ?? Number.NaN),
    );
    const table = tableOf(
      {
        id: 'one-caller',
        title: 'One caller, uncontended acquire and release',
        about:
          'One caller, one key after the other, nobody else. Speed of an acquire with its release, as a share of the same client doing SET NX PX and EVALSHA compare-and-delete.',
        columns: [{ key: 'speed', title: 'speed, raw client = 1', digits: 2, hasSpread: true }],
        chart: 'speed',
      },
      outcomes,
    );
    return [table];
  },
};
