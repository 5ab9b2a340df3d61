/** What a fence or an idempotency key costs in a transaction of PostgreSQL, as a multiple of the bare transaction. */
import { setTimeout as sleep } from 'node:timers/promises';
import { checkFence, idempotent, migrate } from 'holdfast-sql';
import { Client, type ClientConfig } from 'pg';
import type { Measures } from '../../measure/outcome.ts';
import { multipleOf, withRatio } from '../../measure/ratio.ts';
import { median } from '../../measure/statistics.ts';
import { tableOf } from '../../output/table.ts';
import type { Participant } from '../../participants/participant.ts';
import { inRounds } from '../../run/rounds.ts';
import { Servers } from '../../run/servers/servers.ts';
import { extentOf, type Scenario } from '../scenario.ts';

const YARDSTICK = 'bare-transaction';

/** What one transaction does between BEGIN and COMMIT. `run` grows from transaction to transaction. */
type Work = (client: Client, run: number) => Promise<unknown>;

/** With parameters, as programs have them: pg sends such a statement in another way than a plain one. */
const update: Work = (client) =>
  client.query('UPDATE bench_item SET remaining = remaining - $1 WHERE id = $2', [1, 1]);

const WORK: Readonly<Record<string, Work>> = {
  [YARDSTICK]: update,
  'check-fence': async (client, run) => {
    await checkFence(client, { resource: 'bench', fence: run });
    await update(client, run);
  },
  idempotent: (client, run) =>
    idempotent(client, `bench:${run}`, async () => void (await update(client, run))),
};

function participant(id: string, name: string, role: Participant['role']): Participant {
  return {
    id,
    name,
    settings: 'pg 8.23.1, without waiting for the disk',
    role,
    server: 'postgresql',
    client: 'pg',
    isTuned: false,
    canRenew: false,
    sends: {},
    open: () => Promise.reject(new Error(`${id} takes no lock`)),
  };
}

const PARTICIPANTS = [
  participant(YARDSTICK, 'BEGIN, UPDATE, COMMIT', 'yardstick'),
  participant('check-fence', 'with checkFence', 'holdfast'),
  participant('idempotent', 'with idempotent', 'holdfast'),
];

/** The server accepts connections a little before it is ready. */
const READY_MS_MAX = 15_000;

async function connected(at: ClientConfig): Promise<Client> {
  for (const startedMs = performance.now(); ; ) {
    const client = new Client(at);
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (performance.now() - startedMs > READY_MS_MAX) throw error;
      await sleep(50);
    }
  }
}

/** Fences and keys of a run are larger than those of all runs before. */
let runs = 0;

async function measureTransactions(client: Client, work: Work, count: number): Promise<Measures> {
  const durations: number[] = [];
  for (let index = 0; index < count; index += 1) {
    runs += 1;
    const startedMs = performance.now();
    await client.query('BEGIN');
    await work(client, runs);
    await client.query('COMMIT');
    durations.push(performance.now() - startedMs);
  }
  return { transactionMs: median(durations) };
}

export const fenceInSql: Scenario = {
  name: 'fence-in-sql',
  async measure(context) {
    const { port, serverPid, progress } = context;
    await using servers = await Servers.startFor(PARTICIPANTS, { port, pid: serverPid });
    const [first] = PARTICIPANTS;
    if (first === undefined || !servers.has(first)) return [];
    const at = { host: '127.0.0.1', port: servers.of(first).port, user: 'bench', database: 'postgres' };
    const client = await connected(at);
    await migrate(client);
    await client.query('CREATE TABLE bench_item (id integer PRIMARY KEY, remaining bigint)');
    await client.query('INSERT INTO bench_item VALUES (1, 0)');
    const { rounds, count } = extentOf(context, { rounds: 5, count: 200 }, { rounds: 11, count: 1_000 });
    const measured = await inRounds(PARTICIPANTS, { title: 'a fence in SQL', rounds, progress }, ({ id }) =>
      measureTransactions(client, WORK[id] ?? update, count),
    );
    await client.end();
    const outcomes = withRatio(measured, 'slowness', () => YARDSTICK, multipleOf('transactionMs'));
    const table = tableOf(
      {
        id: 'fence-in-sql',
        title: 'A fence and an idempotency key in a transaction of PostgreSQL',
        about:
          'One connection, one transaction after the other, each with one UPDATE. The time of a transaction as a multiple of the same without a check: less is better. Commits do not wait for the disk, so that the share of the check is larger than in production.',
        columns: [
          { key: 'slowness', title: 'time, bare transaction = 1', digits: 2, hasSpread: true },
          { key: 'transactionMs', title: 'p50 ms', digits: 2 },
        ],
        chart: 'slowness',
        compared: [{ key: 'transactionMs', title: 'time of a transaction', better: 'less' }],
      },
      outcomes,
    );
    return [table];
  },
};
