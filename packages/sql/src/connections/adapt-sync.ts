/** Recognises a database of `better-sqlite3` or `node:sqlite` by its shape. */
import { described } from '../checks.ts';
import type { SqlResult } from '../plan.ts';
import type { SyncConnection, SyncSqlSeam } from './connection.ts';

export interface SyncStatement {
  all(...params: never[]): unknown[];
  run(...params: never[]): unknown;
}

/** A database of `better-sqlite3` or `node:sqlite`. */
export interface SyncDatabase {
  prepare(sql: string): SyncStatement;
  exec(sql: string): unknown;
  /** better-sqlite3. */
  readonly inTransaction?: boolean;
  /** node:sqlite, from Node 22.16 and 24 on. */
  readonly isTransaction?: boolean;
}

export type SyncTransaction = SyncDatabase | SyncSqlSeam;

const EXPECTED = 'expected a database of better-sqlite3 or node:sqlite';
/** Statements that return rows; drivers have one method for these and one for the others. */
const RETURNS_ROWS = /^SELECT\b|\bRETURNING\b/;

/** A BEGIN inside a transaction is an error; outside it opens one, which is ended again. */
function canBegin(database: SyncDatabase): boolean {
  try {
    database.exec('BEGIN');
  } catch {
    return false;
  }
  database.exec('ROLLBACK');
  return true;
}

function isOpen(database: SyncDatabase): boolean {
  return database.inTransaction ?? database.isTransaction ?? !canBegin(database);
}

export function adaptSync(given: unknown): SyncConnection {
  if (typeof given !== 'object' || given === null)
    throw new TypeError(`${EXPECTED}, got ${described(given)}`);
  if ('dialect' in given && 'query' in given && 'inTransaction' in given) {
    const seam = given as SyncSqlSeam;
    if (seam.dialect !== 'sqlite')
      throw new TypeError(`expected the dialect sqlite, got ${described(seam.dialect)}`);
    return {
      dialect: 'sqlite',
      query: (sql, params) => seam.query(sql, params),
      inTransaction: () => seam.inTransaction(),
    };
  }
  const database = given as SyncDatabase;
  if (typeof database.prepare !== 'function' || typeof database.exec !== 'function')
    throw new TypeError(`${EXPECTED}, got ${described(given)}; for servers import from holdfast-sql`);
  return {
    dialect: 'sqlite',
    query(sql, params): SqlResult {
      // Numbers, strings and buffers, which both drivers bind.
      const values = params as never[];
      const statement = database.prepare(sql);
      if (RETURNS_ROWS.test(sql)) return { rows: statement.all(...values) as SqlResult['rows'] };
      statement.run(...values);
      return { rows: [] };
    },
    inTransaction: () => isOpen(database),
  };
}
