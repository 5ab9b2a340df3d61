/**
 * Five independent servers: all well, one frozen, two down. A lone caller's acquire and release beside the raw
 * parallel round trip, measured after the calls that detected the fault.
 */

import { multipleOf, rawOf, withRatio } from '../measure/ratio.ts';
import { type Column, type Table, tableOf } from '../output/table.ts';
import { uncontended } from '../participants/selection.ts';
import { inBlocks } from '../run/blocks.ts';
import { closeAll, openAll } from '../run/open-participants.ts';
import { type RedisServer, startRedis } from '../run/servers/redis.ts';
import { type Context, extentOf, type Scenario } from './scenario.ts';

const NODES = 5;

interface State {
  readonly id: string;
  readonly title: string;
  /** Breaks servers, once every participant is connected. */
  breakServers(servers: readonly RedisServer[]): Promise<void>;
}

const STATES: readonly State[] = [
  { id: 'healthy', title: 'all well', async breakServers() {} },
  {
    id: 'frozen',
    title: 'one frozen',
    async breakServers([server]) {
      server?.freeze();
    },
  },
  {
    id: 'down',
    title: 'two down',
    async breakServers(servers) {
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

async function measureState(state: State, context: Context): Promise<Table> {
  const servers: RedisServer[] = [];
  try {
    for (let i = 0; i < NODES; i += 1) servers.push(await startRedis());
    return await measureOn(servers, state, context);
  } finally {
    for (const server of servers) await server[Symbol.asyncDispose]();
  }
}

async function measureOn(servers: readonly RedisServer[], state: State, context: Context): Promise<Table> {
  const { progress } = context;
  const ports = servers.map(({ port }) => port);
  const able = uncontended(context, ['raw-ioredis', 'raw-node-redis']).filter(
    ({ openQuorum }) => openQuorum !== undefined,
  );
  const opened = await openAll(able, (participant) => participant.openQuorum?.(ports));
  const title = `quorum of ${NODES}, ${state.title}`;
  // One round while all servers are well: in production a client is connected before a fault begins.
  const plan = { title, pairs: 20, limitMs: 1_500, progress };
  await inBlocks(opened, { ...plan, rounds: 1, turns: 1 });
  await state.breakServers(servers);
  const measured = await inBlocks(opened, {
    ...plan,
    ...extentOf(context, { rounds: 3, turns: 6 }, { rounds: 7, turns: 15 }),
  });
  await closeAll(opened);
  let outcomes = withRatio(measured, 'acquire', rawOf, multipleOf('acquireMs'));
  outcomes = withRatio(outcomes, 'release', rawOf, multipleOf('releaseMs'));
  outcomes = withRatio(outcomes, 'pair', rawOf, multipleOf('pairMs'));
  return tableOf(
    {
      id: `quorum-${state.id}`,
      title: `Quorum of ${NODES}: ${state.title}`,
      about:
        'Time as a multiple of the raw parallel round trip of the same client: each command to all five servers at once, the third good answer decides. Names are new to the servers for the first thousand pairs, which can cost the fenced lock of holdfast a second trip; everything else makes one.',
      columns: COLUMNS,
      chart: 'acquire',
      compared: [{ key: 'pairMs', title: 'time of acquire and release', better: 'less' }],
    },
    outcomes,
  );
}

export const quorum: Scenario = {
  name: 'quorum',
  async measure(context) {
    const tables: Table[] = [];
    for (const state of STATES) tables.push(await measureState(state, context));
    return tables;
  },
};
