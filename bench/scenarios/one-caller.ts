/** One caller, uncontended acquire and release on distinct keys, as a share of the raw client in the same round. */

import { rawOf, withRatio } from '../measure/ratio.ts';
import { tableOf } from '../output/table.ts';
import { uncontended } from '../participants/selection.ts';
import { inBlocks } from '../run/blocks.ts';
import { closeAll, openAll } from '../run/open-participants.ts';
import { extentOf, type Scenario } from './scenario.ts';

export const oneCaller: Scenario = {
  name: 'one-caller',
  async measure(context) {
    const { port, progress } = context;
    const participants = uncontended(context, ['raw-ioredis', 'raw-node-redis']);
    const opened = await openAll(participants, (participant) => participant.open(port));
    const title = 'one caller';
    const extent = extentOf(context, { rounds: 3, turns: 15 }, { rounds: 7, turns: 40 });
    const measured = await inBlocks(opened, { title, ...extent, pairs: 50, limitMs: 5_000, progress });
    await closeAll(opened);
    const outcomes = withRatio(
      measured,
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
        compared: [{ key: 'pairMs', title: 'time of acquire and release', better: 'less' }],
      },
      outcomes,
    );
    return [table];
  },
};
