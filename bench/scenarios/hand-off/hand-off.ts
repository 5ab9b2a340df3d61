/**
 * Two to thirty-two processes with one caller each on one key, beside bare token passing: every acquisition is handed
 * from one process to another.
 */
import { Redis } from 'ioredis';
import type { Outcome } from '../../measure/outcome.ts';
import { multipleOf, withBestPeer, withRatio } from '../../measure/ratio.ts';
import { growthTable } from '../../output/growth-table.ts';
import { type Table, tableOf } from '../../output/table.ts';
import type { Participant } from '../../participants/participant.ts';
import { contended, isEager, ofOtherKinds, withControl } from '../../participants/selection.ts';
import { inRounds } from '../../run/rounds.ts';
import { Servers } from '../../run/servers/servers.ts';
import { WorkerPool } from '../../workers/worker-pool.ts';
import { measureContention } from '../contention.ts';
import { type Context, extentOf, type Scenario } from '../scenario.ts';

const SIZES = [2, 8, 32];
/** An empty section, and one that is longer than what hands the key over. */
const SECTIONS_MS = [0, 2];
const WARM_MS_EACH = 20;
const YARDSTICK = 'token-passing';

interface Crowd {
  readonly processes: number;
  readonly sectionMs: number;
}

/**
 * The warm-up grows with the processes, which all connect at once. Windows with a section are longer: each of 32
 * processes needs some turns before Jain's index says anything.
 */
function windowsOf({ processes, sectionMs }: Crowd, context: Context) {
  const warmMs = WARM_MS_EACH * processes;
  return extentOf(
    context,
    { rounds: 3, warmMs: 100 + warmMs, windowMs: sectionMs === 0 ? 300 : 800, guardMs: 100 },
    { rounds: 5, warmMs: 300 + warmMs, windowMs: sectionMs === 0 ? 1_000 : 1_500, guardMs: 300 },
  );
}

/** Each library once: settings that retry more slowly mostly measure their own delay. */
async function measureCrowd(
  crowd: Crowd,
  participants: readonly Participant[],
  servers: Servers,
  { pool, admin, context }: { readonly pool: WorkerPool; readonly admin: Redis; readonly context: Context },
): Promise<Outcome[]> {
  const { processes, sectionMs } = crowd;
  const { rounds, ...windows } = windowsOf(crowd, context);
  const title = `hand-off, ${processes} processes, section of ${sectionMs} ms`;
  const measured = await inRounds(
    participants,
    { title, rounds, progress: context.progress },
    (participant, round) =>
      measureContention(pool, admin, participant, {
        key: `hand-off:${processes}:${sectionMs}:${participant.id}:${round}`,
        waiters: 1,
        sectionMs,
        serverPid: servers.of(participant).pid,
        ...windows,
      }),
  );
  let outcomes = withRatio(measured, 'speed', () => YARDSTICK, multipleOf('perSecond'));
  outcomes = withRatio(outcomes, 'cpu', () => YARDSTICK, multipleOf('cpuUs'));
  return withBestPeer(outcomes, 'overBest', 'perSecond');
}

function crowdTable({ processes, sectionMs }: Crowd, outcomes: readonly Outcome[]): Table {
  const section = sectionMs === 0 ? 'empty section' : `section of ${sectionMs} ms`;
  return tableOf(
    {
      id: `hand-off-${processes}-${sectionMs}`,
      title: `${processes} processes with one caller each on one key, ${section}`,
      about:
        'Everyone takes the key again and again, so that it passes from process to process. Speed in acquisitions as a multiple of bare token passing (RPUSH, BLPOP), and of the fastest peer in the same round. Processor time is that of the worker processes and of the server, for each acquisition. Peers with their eager settings; commands are those to Redis.',
      columns: [
        { key: 'speed', title: 'speed, token passing = 1', digits: 2, hasSpread: true },
        { key: 'overBest', title: '× best peer', digits: 2 },
        { key: 'commands', title: 'commands each', digits: 2 },
        { key: 'jainProcesses', title: 'Jain, processes', digits: 3 },
        { key: 'maxMs', title: 'longest ms', digits: 0 },
        { key: 'cpu', title: 'CPU, token passing = 1', digits: 2 },
        { key: 'workersCpuUs', title: 'workers µs', digits: 0 },
        { key: 'serverCpuUs', title: 'server µs', digits: 0 },
        { key: 'gaveUp', title: 'gave up', digits: 0, isTotal: true },
        { key: 'violations', title: 'violations', digits: 0, isTotal: true },
      ],
      chart: 'speed',
      compared: [
        { key: 'perSecond', title: 'acquisitions a second', better: 'more' },
        { key: 'cpuUs', title: 'CPU µs each', better: 'less' },
      ],
    },
    outcomes,
  );
}

export const handOff: Scenario = {
  name: 'hand-off',
  async measure(context) {
    const { port, serverPid } = context;
    const wanted = [...contended(context, YARDSTICK).filter(isEager), ...ofOtherKinds(context)];
    await using servers = await Servers.startFor(wanted, { port, pid: serverPid });
    const participants = withControl(servers.available(wanted), context);
    const admin = new Redis(port, '127.0.0.1');
    const tables: Table[] = [];
    const empty = new Map<number, Outcome[]>();
    for (const processes of SIZES) {
      await using pool = new WorkerPool(processes, (participant) => servers.of(participant).port);
      for (const sectionMs of SECTIONS_MS) {
        const crowd = { processes, sectionMs };
        const some = participants.filter(({ processesMax = processes }) => processes <= processesMax);
        const outcomes = await measureCrowd(crowd, some, servers, { pool, admin, context });
        if (sectionMs === 0) empty.set(processes, outcomes);
        tables.push(crowdTable(crowd, outcomes));
      }
    }
    admin.disconnect();
    const growth = growthTable(
      {
        id: 'hand-off-growth',
        title: 'Commands for each acquisition as processes grow',
        about: 'From the rows above with an empty section: what Redis is asked for each acquisition.',
        key: 'commands',
        growing: 'processes',
      },
      empty,
    );
    return [...tables, growth];
  },
};
