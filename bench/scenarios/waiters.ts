/** Ten to ten thousand waiters on one key in one process, beside the raw client behind a local queue. */
import { Redis } from 'ioredis';
import type { Outcome } from '../measure/outcome.ts';
import { multipleOf, withBestPeer, withRatio } from '../measure/ratio.ts';
import { growthTable } from '../output/growth-table.ts';
import { type Table, tableOf } from '../output/table.ts';
import type { Participant } from '../participants/participant.ts';
import { contended, isEager } from '../participants/selection.ts';
import { inRounds } from '../run/rounds.ts';
import { WorkerPool } from '../workers/worker-pool.ts';
import { CONTENTION_COLUMNS, measureContention } from './contention.ts';
import { type Context, extentOf, type Scenario } from './scenario.ts';

const YARDSTICK = 'raw-handover';

interface Crowd {
  readonly waiters: number;
  readonly sectionMs: number;
  /** Peers with every setting, with the fastest retry only, or no peers. */
  readonly peers: 'all' | 'eager' | 'none';
}

const CROWDS: readonly Crowd[] = [10, 100, 1_000, 10_000].flatMap((waiters): Crowd[] => {
  const peers = waiters === 100 ? 'all' : 'eager';
  return [
    { waiters, sectionMs: 0, peers },
    { waiters, sectionMs: 1, peers },
  ];
});

/**
 * A quick run shows a hundred waiters and whether the cost stays flat. Ten thousand pollers take seconds to start and
 * to end, so at that size peers are left out.
 */
const CROWDS_QUICK: readonly Crowd[] = [
  { waiters: 10, sectionMs: 0, peers: 'eager' },
  { waiters: 100, sectionMs: 0, peers: 'eager' },
  { waiters: 10_000, sectionMs: 0, peers: 'none' },
];

function participantsOf({ peers }: Crowd, context: Context): Participant[] {
  const all = contended(context, YARDSTICK);
  if (peers === 'none') return all.filter(({ role }) => role !== 'peer');
  return peers === 'eager' ? all.filter(isEager) : all;
}

async function measureCrowd(
  crowd: Crowd,
  pool: WorkerPool,
  admin: Redis,
  context: Context,
): Promise<Outcome[]> {
  const { rounds, ...windows } = extentOf(
    context,
    { rounds: 3, warmMs: 100, windowMs: 250, guardMs: 80 },
    { rounds: 5, warmMs: 200, windowMs: 700, guardMs: 200 },
  );
  const { waiters, sectionMs } = crowd;
  const title = `${waiters} waiters, section of ${sectionMs} ms`;
  const measured = await inRounds(
    participantsOf(crowd, context),
    { title, rounds, progress: context.progress },
    (participant, round) => {
      const key = `waiters:${waiters}:${sectionMs}:${participant.id}:${round}`;
      return measureContention(pool, admin, participant, { key, waiters, sectionMs, ...windows });
    },
  );
  const compared = withRatio(measured, 'speed', () => YARDSTICK, multipleOf('perSecond'));
  return withBestPeer(compared, 'overBest', 'perSecond');
}

function crowdTable({ waiters, sectionMs }: Crowd, outcomes: readonly Outcome[]): Table {
  const section = sectionMs === 0 ? 'empty section' : `section of ${sectionMs} ms`;
  return tableOf(
    {
      id: `waiters-${waiters}-${sectionMs}`,
      title: `${waiters.toLocaleString('en')} waiters on one key in one process, ${section}`,
      about:
        'Everyone takes the key again and again. Speed in acquisitions as a multiple of the raw client behind a local line, where each hand-over costs one round trip, and of the fastest peer in the same round. Jain over waiters says little where there are more waiters than acquisitions.',
      columns: [
        { key: 'speed', title: 'speed, raw hand-over = 1', digits: 2, hasSpread: true },
        { key: 'overBest', title: '× best peer', digits: 1 },
        ...CONTENTION_COLUMNS,
      ],
      chart: 'speed',
      compared: [{ key: 'perSecond', title: 'acquisitions a second', better: 'more' }],
    },
    outcomes,
  );
}

/** The commands for each acquisition as the crowd grows, side by side. */
function commandsTable(measured: ReadonlyMap<Crowd, readonly Outcome[]>): Table {
  const empty = [...measured].filter(([{ sectionMs }]) => sectionMs === 0);
  return growthTable(
    {
      id: 'waiters-growth',
      title: 'Commands for each acquisition as waiters grow',
      about: 'From the rows above with an empty section: what Redis is asked for each acquisition.',
      key: 'commands',
      growing: 'waiters',
    },
    new Map(empty.map(([{ waiters }, outcomes]) => [waiters, outcomes])),
  );
}

export const waiters: Scenario = {
  name: 'waiters',
  async measure(context) {
    const { port, isQuick } = context;
    const admin = new Redis(port, '127.0.0.1');
    await using pool = new WorkerPool(1, port);
    const measured = new Map<Crowd, Outcome[]>();
    for (const crowd of isQuick ? CROWDS_QUICK : CROWDS) {
      measured.set(crowd, await measureCrowd(crowd, pool, admin, context));
    }
    admin.disconnect();
    const tables = [...measured].map(([crowd, outcomes]) => crowdTable(crowd, outcomes));
    return [...tables, commandsTable(measured)];
  },
};
