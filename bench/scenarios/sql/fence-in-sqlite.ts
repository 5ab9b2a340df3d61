/** What a fence or an idempotency key costs in a transaction of SQLite, as a multiple of the bare transaction. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkFence, idempotent, migrate, type SyncDatabase } from 'holdfast-sql/sync';
import type { Measures } from '../../measure/outcome.ts';
import { multipleOf, withRatio } from '../../measure/ratio.ts';
import { median } from '../../measure/statistics.ts';
import { tableOf } from '../../output/table.ts';
import type { Participant } from '../../participants/participant.ts';
import { inRounds } from '../../run/rounds.ts';
import { extentOf, type Scenario } from '../scenario.ts';

const YARDSTICK = 'bare-sqlite';

type Database = SyncDatabase & { close(): void };

/** The types of Node 20 do not know the module, and neither does Node 20. */
interface SqliteModule {
  readonly DatabaseSync: new (file: string) => Database;
}

/** What one transaction does between BEGIN IMMEDIATE and COMMIT. `run` grows from transaction to transaction. */
type Work = (db: Database, run: number) => unknown;

/** Prepared each time, as the verbs of holdfast-sql prepare theirs. */
const update: Work = (db) =>
  db.prepare('UPDATE bench_item SET remaining = remaining - ? WHERE id = ?').run(...([1, 1] as never[]));

const WORK: Readonly<Record<string, Work>> = {
  [YARDSTICK]: update,
  'check-fence-sqlite': (db, run) => {
    checkFence(db, { resource: 'bench', fence: run });
    update(db, run);
  },
  'idempotent-sqlite': (db, run) => idempotent(db, `bench:${run}`, () => void update(db, run)),
};

function participant(id: string, name: string, role: Participant['role']): Participant {
  return {
    id,
    name,
    settings: 'node:sqlite, WAL',
    role,
    client: 'node:sqlite',
    isTuned: false,
    canRenew: false,
    sends: {},
    open: () => Promise.reject(new Error(`${id} takes no lock`)),
  };
}

const PARTICIPANTS = [
  participant(YARDSTICK, 'BEGIN IMMEDIATE, UPDATE, COMMIT', 'yardstick'),
  participant('check-fence-sqlite', 'with checkFence', 'holdfast'),
  participant('idempotent-sqlite', 'with idempotent', 'holdfast'),
];

/** Null, with a word, on a Node that has no SQLite. */
async function openDatabase(folder: string): Promise<Database | null> {
  const name = 'node:sqlite';
  try {
    const { DatabaseSync } = (await import(name)) as SqliteModule;
    const db = new DatabaseSync(join(folder, 'bench.db'));
    // As programs have it: in this mode a commit does not wait for the disk, and loses nothing when the process dies.
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    return db;
  } catch {
    process.stderr.write('SQLite is left out: it needs Node 22.13 or newer\n');
    return null;
  }
}

/** Fences and keys of a run are larger than those of all runs before. */
let runs = 0;

function measureTransactions(db: Database, work: Work, count: number): Measures {
  const durations: number[] = [];
  for (let index = 0; index < count; index += 1) {
    runs += 1;
    const startedMs = performance.now();
    db.exec('BEGIN IMMEDIATE');
    work(db, runs);
    db.exec('COMMIT');
    durations.push((performance.now() - startedMs) * 1_000);
  }
  return { transactionUs: median(durations) };
}

export const fenceInSqlite: Scenario = {
  name: 'fence-in-sqlite',
  async measure(context) {
    const { progress } = context;
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-sqlite-'));
    const db = await openDatabase(folder);
    if (db === null) {
      rmSync(folder, { recursive: true });
      return [];
    }
    migrate(db);
    db.exec('CREATE TABLE bench_item (id INTEGER PRIMARY KEY, remaining INTEGER)');
    db.exec('INSERT INTO bench_item VALUES (1, 0)');
    const { rounds, count } = extentOf(context, { rounds: 5, count: 1_000 }, { rounds: 11, count: 5_000 });
    const measured = await inRounds(
      PARTICIPANTS,
      { title: 'a fence in SQLite', rounds, progress },
      async ({ id }) => measureTransactions(db, WORK[id] ?? update, count),
    );
    db.close();
    rmSync(folder, { recursive: true });
    const outcomes = withRatio(measured, 'slowness', () => YARDSTICK, multipleOf('transactionUs'));
    const table = tableOf(
      {
        id: 'fence-in-sqlite',
        title: 'A fence and an idempotency key in a transaction of SQLite',
        about:
          'One transaction after the other in one process, each with one UPDATE. The time of a transaction as a multiple of the same without a check: less is better. There is no network, and commits do not wait for the disk, so that the share of the check is larger than in production.',
        columns: [
          { key: 'slowness', title: 'time, bare transaction = 1', digits: 2, hasSpread: true },
          { key: 'transactionUs', title: 'p50 µs', digits: 1 },
        ],
        chart: 'slowness',
        compared: [{ key: 'transactionUs', title: 'time of a transaction', better: 'less' }],
      },
      outcomes,
    );
    return [table];
  },
};
