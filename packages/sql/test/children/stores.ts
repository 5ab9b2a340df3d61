/** What the child processes do to a database, on each kind: a transaction around a piece of work, and SQL inside it. */
import mysql from 'mysql2/promise';
import pg from 'pg';
import { checkFence, idempotent, retry, type SqlTransaction } from '../../src/index.ts';
import * as sync from '../../src/sync.ts';

export type Kind = 'postgresql' | 'mariadb' | 'sqlite';

/** Inside a transaction. Parameters are question marks. */
export interface Work {
  check(resource: string, fence: number): Promise<void>;
  once(key: string, sql: string, params: readonly unknown[]): Promise<void>;
  run(sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>;
}

export interface Store {
  /** In a transaction that is run again while that may help. */
  transaction(work: (tx: Work) => Promise<void>): Promise<void>;
  /** Outside of a transaction. */
  say(sql: string): Promise<void>;
  end(): Promise<void>;
}

type Run = Work['run'];

function asyncStore(connection: SqlTransaction, run: Run, end: () => Promise<unknown>): Store {
  const work: Work = {
    check: (resource, fence) => checkFence(connection, { resource, fence }),
    once: (key, sql, params) => idempotent(connection, key, async () => void (await run(sql, params))),
    run,
  };
  return {
    transaction: (body) => retry(connection, () => body(work), { attempts: 50 }),
    say: async (sql) => void (await run(sql)),
    end: async () => void (await end()),
  };
}

async function openPostgresql(port: number): Promise<Store> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'test', database: 'test' });
  client.on('error', () => {});
  await client.connect();
  const run: Run = async (sql, params = []) => {
    let count = 0;
    const text = sql.replaceAll('?', () => `$${++count}`);
    return (await client.query(text, [...params])).rows;
  };
  return asyncStore(client, run, () => client.end());
}

async function openMariadb(port: number): Promise<Store> {
  const connection = await mysql.createConnection({
    host: '127.0.0.1',
    port,
    user: 'root',
    database: 'test',
  });
  connection.on('error', () => {});
  const run: Run = async (sql, params = []) => {
    const [rows] = await connection.query(sql, [...params]);
    return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
  };
  return asyncStore(connection, run, () => connection.end());
}

/** The types of Node 20 do not know the module. */
interface SqliteModule {
  readonly DatabaseSync: new (file: string) => sync.SyncDatabase & { close(): void };
}

/** The work of one transaction is asynchronous here and only awaits what is there already. */
async function openSqlite(file: string): Promise<Store> {
  const name = 'node:sqlite';
  const { DatabaseSync } = (await import(name)) as SqliteModule;
  const database = new DatabaseSync(file);
  database.exec('PRAGMA busy_timeout = 60000');
  const run = (sql: string, params: readonly unknown[] = []): Record<string, unknown>[] =>
    database.prepare(sql).all(...(params as never[])) as Record<string, unknown>[];
  const work: Work = {
    check: async (resource, fence) => sync.checkFence(database, { resource, fence }),
    once: async (key, sql, params) => sync.idempotent(database, key, () => void run(sql, params)),
    run: async (sql, params) => run(sql, params),
  };
  return {
    async transaction(body) {
      sync.retry(() => database.exec('BEGIN IMMEDIATE'));
      try {
        await body(work);
        database.exec('COMMIT');
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
    },
    say: async (sql) => database.exec(sql) as undefined,
    end: async () => database.close(),
  };
}

/** `place` is a port, or the file of SQLite. */
export async function openStore(kind: Kind, place: string): Promise<Store> {
  if (kind === 'sqlite') return await openSqlite(place);
  return kind === 'postgresql' ? await openPostgresql(Number(place)) : await openMariadb(Number(place));
}
