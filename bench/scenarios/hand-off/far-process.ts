/** One process behind a slow network among processes near the server, all on one key: does it get its turns? */
import { Redis } from 'ioredis';
import { Histogram } from '../../measure/histogram.ts';
import type { Measures } from '../../measure/outcome.ts';
import { multipleOf, withRatio } from '../../measure/ratio.ts';
import { sum } from '../../measure/statistics.ts';
import { tableOf } from '../../output/table.ts';
import { contended, isEager, ofOtherKinds } from '../../participants/selection.ts';
import { inRounds } from '../../run/rounds.ts';
import { FarServers } from '../../run/servers/far-servers.ts';
import { Servers } from '../../run/servers/servers.ts';
import type { ContendResult } from '../../workers/jobs/job.ts';
import { WorkerPool } from '../../workers/worker-pool.ts';
import { measureContention } from '../contention.ts';
import { extentOf, type Scenario } from '../scenario.ts';

const NEAR_PROCESSES = 8;
const PROCESSES = NEAR_PROCESSES + 1;
/** The far process is the last one. */
const FAR = NEAR_PROCESSES;
const ROUND_TRIP_MS = 10;
const SECTION_MS = 2;
const YARDSTICK = 'token-passing';

function measuresOf(results: readonly ContendResult[]): Measures {
  const far = results[FAR];
  if (far === undefined) throw new Error(`expected ${PROCESSES} results, got ${results.length}`);
  const waits = new Histogram();
  waits.merge(far.waits);
  const equalShare = sum(results.map(({ acquisitions }) => acquisitions)) / PROCESSES;
  return { farShare: far.acquisitions / equalShare, farMaxMs: waits.maxMs };
}

export const farProcess: Scenario = {
  name: 'far-process',
  async measure(context) {
    const { port, serverPid, progress } = context;
    const asked = [...contended(context, YARDSTICK).filter(isEager), ...ofOtherKinds(context)];
    const wanted = asked.filter(({ processesMax = PROCESSES }) => PROCESSES <= processesMax);
    await using servers = await Servers.startFor(wanted, { port, pid: serverPid });
    const participants = servers.available(wanted);
    await using farServers = await FarServers.startFor(participants, servers, ROUND_TRIP_MS / 2);
    await using pool = new WorkerPool(
      PROCESSES,
      (participant, index) => (index === FAR ? farServers : servers).of(participant).port,
    );
    const admin = new Redis(port, '127.0.0.1');
    const { rounds, ...windows } = extentOf(
      context,
      { rounds: 3, warmMs: 200, windowMs: 1_500, guardMs: 100 },
      { rounds: 5, warmMs: 500, windowMs: 3_000, guardMs: 300 },
    );
    const measured = await inRounds(
      participants,
      { title: 'far process', rounds, progress },
      (participant, round) =>
        measureContention(pool, admin, participant, {
          key: `far-process:${participant.id}:${round}`,
          waiters: 1,
          sectionMs: SECTION_MS,
          ...windows,
          measuresOf,
        }),
    );
    admin.disconnect();
    let outcomes = withRatio(measured, 'speed', () => YARDSTICK, multipleOf('perSecond'));
    outcomes = withRatio(outcomes, 'overQueue', () => YARDSTICK, multipleOf('farShare'));
    const table = tableOf(
      {
        id: 'far-process',
        title: `One process ${ROUND_TRIP_MS} ms from Redis among ${NEAR_PROCESSES} near it, on one key`,
        about: `One caller each, who takes the key again and again, with a section of ${SECTION_MS} ms. The far process has a round trip of ${ROUND_TRIP_MS} ms. Its turns as a share of an equal share, and of its turns in bare token passing (RPUSH, BLPOP), where the server serves in the order of arrival: the far process is away for a round trip between two turns, so that even there its share is below 1. From PostgreSQL and etcd the far process is as far as from Redis.`,
        columns: [
          { key: 'farShare', title: 'share of the far one, equal = 1', digits: 2, hasSpread: true },
          { key: 'overQueue', title: 'token passing = 1', digits: 2 },
          { key: 'farMaxMs', title: 'its longest wait ms', digits: 0 },
          { key: 'maxMs', title: 'longest of all ms', digits: 0 },
          { key: 'speed', title: 'speed of all, token passing = 1', digits: 2 },
          { key: 'gaveUp', title: 'gave up', digits: 0, isTotal: true },
          { key: 'violations', title: 'violations', digits: 0, isTotal: true },
        ],
        chart: 'farShare',
        compared: [{ key: 'farShare', title: 'share of the far process', better: 'more' }],
      },
      outcomes,
    );
    return [table];
  },
};
