/**
 * Five independent servers: all well, one frozen, two down. A lone caller's acquire and release beside the raw
 * parallel round trip, after the calls that found out about the fault.
 */
import { closeAll, inBlocks, openAll } from '../blocks.ts';
import type { Entrant } from '../contestant.ts';
import { uncontended } from '../field.ts';
import { multipleOf, withRatio } from '../ratio.ts';
import type { Context, Scenario } from '../scenario.ts';
import { type BenchServer, startServer } from '../server.ts';
import { type Column, type Table, tableOf } from '../table.ts';

const NODES = 5;

interface State {
  readonly id: string;
  readonly title: string;
  /** Breaks what is to be broken, once everyone is connected. */
  strike(servers: readonly BenchServer[]): Promise<void>;
}

const STATES: readonly State[] = [
  { id: 'healthy', title: 'all well', async strike() {} },
  {
    id: 'frozen',
    title: 'one frozen',
    async strike([server]) {
      server?.freeze();
    },
  },
  {
    id: 'down',
    title: 'two down',
    async strike(servers) {
      for (const server of servers.slice(0, 2)) await server.kill();
    },
  },
];

const COLUMNS: readonly Column[] = [
  { key: 'acquire', title: 'acquire, × raw', digits: 2, hasSpread: true },
  { key: 'release', title: 'release, × raw', digits: 2, hasSpread: true },
  { key: 'pair', title: 'both, × raw', digits: 2, hasSpread: true },
  { key: 'failed', title: 'failed', digits: 0, isTotal: true },
];

async function playState(state: State, context: Context): Promise<Table> {
  const servers: BenchServer[] = [];
  try {
    for (let i = 0; i < NODES; i += 1) servers.push(await startServer());
    return await playOn(servers, state, context);
  } finally {
    for (const server of servers) await server[Symbol.asyncDispose]();
  }
}

async function playOn(servers: readonly BenchServer[], state: State, context: Context): Promise<Table> {
  const { isQuick, progress } = context;
  const ports = servers.map(({ port }) => port);
  const able = uncontended(context, ['raw-ioredis', 'raw-node-redis']).filter(
    ({ openQuorum }) => openQuorum !== undefined,
  );
  const contestants = await openAll(able, (entrant) => entrant.openQuorum?.(ports));
  const title = `quorum of ${NODES}, ${state.title}`;
  // Once while all is well: whoever is used in earnest was connected before the fault.
  const plan = { title, pairs: 20, limitMs: 1_500, progress };
  await inBlocks(contestants, { ...plan, rounds: 1, turns: 1 });
  await state.strike(servers);
  const played = await inBlocks(contestants, {
    ...plan,
    ...(isQuick ? { rounds: 3, turns: 6 } : { rounds: 7, turns: 15 }),
  });
  await closeAll(contestants);
  const raw = ({ client }: Entrant): string => `raw-${client}`;
  let outcomes = withRatio(played, 'acquire', raw, multipleOf('acquireMs'));
  outcomes = withRatio(outcomes, 'release', raw, multipleOf('releaseMs'));
  outcomes = withRatio(outcomes, 'pair', raw, multipleOf('pairMs'));
  return tableOf(
    {
      id: `quorum-${state.id}`,
      title: `Quorum of ${NODES}: ${state.title}`,
      about:
        'Time as a multiple of the raw parallel round trip of the same client: each command to all five servers at once, the third good answer decides. Names are new to the servers for the first thousand pairs, which can cost the fenced lock of holdfast a second trip; everything else makes one.',
      columns: COLUMNS,
      chart: 'acquire',
    },
    outcomes,
  );
}

export const quorum: Scenario = {
  name: 'quorum',
  async play(context) {
    const tables: Table[] = [];
    for (const state of STATES) tables.push(await playState(state, context));
    return tables;
  },
};
