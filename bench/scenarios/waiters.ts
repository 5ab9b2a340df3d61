/** Ten to ten thousand waiters on one key in one process, beside the raw client behind a local line. */
import { Redis } from 'ioredis';
import { CONTEST_COLUMNS, playContest } from '../contest.ts';
import type { Entrant } from '../contestant.ts';
import { contended, isEager } from '../field.ts';
import { GROWTH_CHART } from '../output/growth-chart.ts';
import { multipleOf, withBestPeer, withRatio } from '../ratio.ts';
import { inRounds, type Outcome } from '../rounds.ts';
import type { Context, Scenario } from '../scenario.ts';
import { type Table, tableOf } from '../table.ts';
import { Team } from '../team.ts';

const YARDSTICK = 'raw-handover';

interface Crowd {
  readonly waiters: number;
  readonly sectionMs: number;
  /** With the settings of their READMEs, with eager ones only, or not at all. */
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
 * Enough to see what the bars speak of: the hundred, and whether the cost stays flat. Ten thousand pollers take
 * seconds to start and to end, so at that size a quick run leaves them out.
 */
const CROWDS_QUICK: readonly Crowd[] = [
  { waiters: 10, sectionMs: 0, peers: 'eager' },
  { waiters: 100, sectionMs: 0, peers: 'eager' },
  { waiters: 10_000, sectionMs: 0, peers: 'none' },
];

function field({ peers }: Crowd, context: Context): Entrant[] {
  const all = contended(context, YARDSTICK);
  if (peers === 'none') return all.filter(({ role }) => role !== 'peer');
  return peers === 'eager' ? all.filter(isEager) : all;
}

async function playCrowd(crowd: Crowd, team: Team, admin: Redis, context: Context): Promise<Outcome[]> {
  const { isQuick, progress } = context;
  const windows = isQuick
    ? { warmMs: 100, windowMs: 250, guardMs: 80 }
    : { warmMs: 200, windowMs: 700, guardMs: 200 };
  const { waiters, sectionMs } = crowd;
  const title = `${waiters} waiters, section of ${sectionMs} ms`;
  const played = await inRounds(
    field(crowd, context),
    { title, rounds: isQuick ? 3 : 5, progress },
    (entrant, round) => {
      const key = `waiters:${waiters}:${sectionMs}:${entrant.id}:${round}`;
      return playContest(team, admin, entrant, { key, waiters, sectionMs, ...windows });
    },
  );
  const compared = withRatio(played, 'speed', () => YARDSTICK, multipleOf('perSecond'));
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
        ...CONTEST_COLUMNS,
      ],
      chart: 'speed',
    },
    outcomes,
  );
}

/** The commands for each acquisition as the crowd grows, side by side. */
function growthTable(played: ReadonlyMap<Crowd, readonly Outcome[]>): Table {
  const empty = [...played].filter(([{ sectionMs }]) => sectionMs === 0);
  const [, first = []] = empty[0] ?? [];
  const outcomes = first.map(({ entrant }): Outcome => {
    const own = empty.map(([{ waiters }, outcomes]) => ({
      waiters,
      outcome: outcomes.find((outcome) => outcome.entrant === entrant),
    }));
    const rounds = (own[0]?.outcome?.rounds ?? []).map((_, round) =>
      Object.fromEntries(
        own.map(({ waiters, outcome }) => [
          String(waiters),
          outcome?.rounds[round]?.['commands'] ?? Number.NaN,
        ]),
      ),
    );
    return { entrant, rounds, trouble: null };
  });
  const sizes = empty.map(([{ waiters }]) => waiters);
  return tableOf(
    {
      id: 'waiters-growth',
      title: 'Commands for each acquisition as waiters grow',
      about: 'From the rows above with an empty section: what Redis is asked for each acquisition.',
      columns: sizes.map((size) => ({
        key: String(size),
        title: `${size.toLocaleString('en')} waiters`,
        digits: 2,
      })),
      chart: GROWTH_CHART,
    },
    outcomes,
  );
}

export const waiters: Scenario = {
  name: 'waiters',
  async play(context) {
    const { port, isQuick } = context;
    const admin = new Redis(port, '127.0.0.1');
    await using team = new Team(1, port);
    const played = new Map<Crowd, Outcome[]>();
    for (const crowd of isQuick ? CROWDS_QUICK : CROWDS) {
      played.set(crowd, await playCrowd(crowd, team, admin, context));
    }
    admin.disconnect();
    const tables = [...played].map(([crowd, outcomes]) => crowdTable(crowd, outcomes));
    return [...tables, growthTable(played)];
  },
};
