/** Four processes with 25 waiters each on one key, with an empty section, beside bare token passing. */
import { Redis } from 'ioredis';
import { CONTEST_COLUMNS, playContest } from '../contest.ts';
import { contended, withControl } from '../field.ts';
import { multipleOf, withBestPeer, withRatio } from '../ratio.ts';
import { inRounds } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { tableOf } from '../table.ts';
import { Team } from '../team.ts';

const PROCESSES = 4;
const WAITERS = 25;
const YARDSTICK = 'token-passing';

export const processes: Scenario = {
  name: 'processes',
  async play(context) {
    const { port, isQuick, progress } = context;
    const admin = new Redis(port, '127.0.0.1');
    await using team = new Team(PROCESSES, port);
    const entrants = withControl(contended(context, YARDSTICK), context);
    const windows = isQuick
      ? { warmMs: 100, windowMs: 300, guardMs: 100 }
      : { warmMs: 400, windowMs: 1_500, guardMs: 400 };
    const title = `${PROCESSES} processes × ${WAITERS} waiters`;
    const played = await inRounds(entrants, { title, rounds: isQuick ? 3 : 5, progress }, (entrant, round) =>
      playContest(team, admin, entrant, {
        key: `processes:${entrant.id}:${round}`,
        waiters: WAITERS,
        sectionMs: 0,
        ...windows,
      }),
    );
    admin.disconnect();
    let outcomes = withRatio(played, 'speed', () => YARDSTICK, multipleOf('perSecond'));
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
          ...CONTEST_COLUMNS,
        ],
        chart: 'speed',
      },
      outcomes,
    );
    return [table];
  },
};
