/** Four processes with 25 waiters each on one key, with an empty section, beside bare token passing. */
import { Redis } from 'ioredis';
import { multipleOf, withBestPeer, withRatio } from '../measure/ratio.ts';
import { tableOf } from '../output/table.ts';
import { contended, withControl } from '../participants/selection.ts';
import { inRounds } from '../run/rounds.ts';
import { WorkerPool } from '../workers/worker-pool.ts';
import { CONTENTION_COLUMNS, measureContention } from './contention.ts';
import { extentOf, type Scenario } from './scenario.ts';

const PROCESSES = 4;
const WAITERS = 25;
const YARDSTICK = 'token-passing';

export const processes: Scenario = {
  name: 'processes',
  async measure(context) {
    const { port, progress } = context;
    const admin = new Redis(port, '127.0.0.1');
    await using pool = new WorkerPool(PROCESSES, port);
    const participants = withControl(contended(context, YARDSTICK), context);
    const { rounds, ...windows } = extentOf(
      context,
      { rounds: 3, warmMs: 100, windowMs: 300, guardMs: 100 },
      { rounds: 5, warmMs: 400, windowMs: 1_500, guardMs: 400 },
    );
    const title = `${PROCESSES} processes × ${WAITERS} waiters`;
    const measured = await inRounds(participants, { title, rounds, progress }, (participant, round) =>
      measureContention(pool, admin, participant, {
        key: `processes:${participant.id}:${round}`,
        waiters: WAITERS,
        sectionMs: 0,
        ...windows,
      }),
    );
    admin.disconnect();
    let outcomes = withRatio(measured, 'speed', () => YARDSTICK, multipleOf('perSecond'));
    outcomes = withBestPeer(outcomes, 'overBest', 'perSecond');
    const table = tableOf(
      {
        id: 'processes',
        title: `${PROCESSES} processes with ${WAITERS} waiters each on one key`,
        about:
          'Everyone takes the key again and again, with an empty section. Speed in acquisitions as a multiple of bare token passing (RPUSH, BLPOP), and of the fastest peer in the same round.',
        columns: [
          { key: 'speed', title: 'speed, token passing = 1', digits: 2, hasSpread: true },
          { key: 'overBest', title: '× best peer', digits: 1 },
          { key: 'jainProcesses', title: 'Jain, processes', digits: 2 },
          ...CONTENTION_COLUMNS,
        ],
        chart: 'speed',
        compared: [{ key: 'perSecond', title: 'acquisitions a second', better: 'more' }],
      },
      outcomes,
    );
    return [table];
  },
};
