/** Recognises what a caller hands in by its shape: this package imports no driver. */
import { described } from '../checks.ts';
import type { SqlResult } from '../plan.ts';
import type { AsyncConnection, Dialect, SqlSeam } from './connection.ts';

/** A client of `pg`, also one that was checked out of a pool. */
export interface PgClient {
  query(text: string, values: unknown[]): Promise<{ readonly rows: unknown[] }>;
  getTransactionStatus?(): unknown;
  /** Pools have it. A pool runs each statement on any of its connections, so that there is no transaction. */
  readonly totalCount?: never;
}

/** The `sql` that `sql.begin` of `postgres` passes to its function, or a connection from `sql.reserve()`. */
export type PostgresTransaction = {
  unsafe(query: string, parameters?: never[]): PromiseLike<readonly unknown[]>;
} & ({ readonly savepoint: unknown } | { release(): void });

/** A connection of `mysql2` or `mysql2/promise`. */
export interface Mysql2Connection {
  readonly threadId: number | null;
  query(sql: string, values: unknown[]): unknown;
  readonly getConnection?: never;
}

/** An open transaction. */
export type SqlTransaction = PgClient | PostgresTransaction | Mysql2Connection | SqlSeam;

/** A pool or a root object. Enough for `migrate` and `cleanUp`, whose statements stand alone. */
export type SqlPool =
  | { readonly totalCount: number; query(text: string, values: unknown[]): unknown }
  | { readonly begin: unknown; unsafe(query: string, parameters?: never[]): unknown }
  | { readonly getConnection: unknown; query(sql: string, values: unknown[]): unknown };

type Member = (...args: readonly unknown[]) => unknown;
type Query = (sql: string, params: readonly unknown[]) => Promise<SqlResult>;

const DIALECTS: readonly unknown[] = ['postgresql', 'mysql', 'sqlite'] satisfies Dialect[];
const EXPECTED =
  'expected a transaction of pg, postgres or mysql2, or { dialect, query } for another library (docs/guide/fences-in-sql.md)';
const WHY_NO_POOL = 'a pool runs each statement on any of its connections, outside the transaction';

function memberOf(value: object, name: string): Member | undefined {
  const member: unknown = Reflect.get(value, name);
  // Called with its object below; the cast says only that it is a function.
  return typeof member === 'function' ? (member.bind(value) as Member) : undefined;
}

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

/** A pool, or an object that stands for one. Null: it is none. */
function poolName(given: object): string | null {
  if ('totalCount' in given && memberOf(given, 'connect'))
    return 'a pool of pg: use a client from `pool.connect()`';
  if (memberOf(given, 'getConnection'))
    return 'a pool of mysql2: use a connection from `pool.getConnection()`';
  if (memberOf(given, 'begin') && memberOf(given, 'unsafe') && !memberOf(given, 'savepoint'))
    return 'the root `sql` of postgres: use the one that `sql.begin` passes to its function';
  return null;
}

function pgConnection(given: object, query: Member): AsyncConnection {
  const status = memberOf(given, 'getTransactionStatus');
  return {
    dialect: 'postgresql',
    query: (async (sql, params) => {
      const { rows, command } = (await query(sql, [...params])) as SqlResult;
      return { rows, command };
    }) satisfies Query,
    // Not asked whether the transaction is aborted: pg tells of an error before it has read the new status.
    inTransaction: status && (() => ['T', 'E'].includes(String(status()))),
    tellsCommand: true,
  };
}

/** Without `inTransaction`: the `sql` of a transaction looks the same when that has ended, so the server is asked. */
function postgresConnection(unsafe: Member): AsyncConnection {
  return {
    dialect: 'postgresql',
    query: (async (sql, params) => {
      const rows = (await unsafe(sql, [...params])) as SqlResult['rows'] & { readonly command?: string };
      return { rows, command: rows.command };
    }) satisfies Query,
    tellsCommand: true,
  };
}

/** Bits of the status in each reply of the server. */
const STATUS_IN_TRANSACTION = 1;
const STATUS_AUTOCOMMIT = 2;

/** Reads an answer of mysql2: rows, or the header of a statement that returns none. */
export function mysqlResult(answer: unknown): SqlResult {
  if (Array.isArray(answer)) return { rows: answer };
  if (!isObject(answer)) return { rows: [] };
  const header = answer as { affectedRows?: number; insertId?: number; serverStatus?: number };
  const { affectedRows: count, insertId, serverStatus: status } = header;
  const inTransaction =
    status === undefined
      ? undefined
      : (status & STATUS_IN_TRANSACTION) !== 0 || (status & STATUS_AUTOCOMMIT) === 0;
  return { rows: [], count, insertId, inTransaction };
}

function mysqlConnection(given: object, query: Member): AsyncConnection {
  // The callback connection's `query` gives no promise; the one that it has inside does.
  const promised = memberOf(given, 'promise')?.();
  const ask = isObject(promised) ? (memberOf(promised, 'query') ?? query) : query;
  return {
    dialect: 'mysql',
    query: (async (sql, params) => {
      const [answer] = (await ask(sql, [...params])) as [unknown];
      return mysqlResult(answer);
    }) satisfies Query,
  };
}

function seamConnection(given: SqlSeam): AsyncConnection {
  const { dialect } = given;
  if (!DIALECTS.includes(dialect))
    throw new TypeError(`expected the dialect postgresql, mysql or sqlite, got ${described(dialect)}`);
  if (dialect === 'sqlite' && given.inTransaction === undefined)
    throw new TypeError('expected a seam for sqlite to have inTransaction: SQLite cannot be asked for it');
  return {
    dialect,
    query: (sql, params) => given.query(sql, params),
    // A library does not hear that MySQL has ended its transaction, and would say that it is open.
    inTransaction:
      dialect !== 'mysql' && given.inTransaction ? () => given.inTransaction?.() === true : undefined,
  };
}

/** Connections and pools, each with and without promises. Other drivers have `query` and `execute` too, and answer otherwise. */
const isMysql2 = (given: object): boolean =>
  memberOf(given, 'execute') !== undefined &&
  (memberOf(given, 'promise') !== undefined || 'connection' in given || 'pool' in given);

/** Clients and pools. A query runner of TypeORM has `connect` and `query` too. */
const isPg = (given: object): boolean =>
  memberOf(given, 'connect') !== undefined && ('connectionParameters' in given || 'totalCount' in given);

function recognised(given: object): AsyncConnection {
  const query = memberOf(given, 'query');
  const unsafe = memberOf(given, 'unsafe');
  if (query && typeof Reflect.get(given, 'dialect') === 'string') return seamConnection(given as SqlSeam);
  if (typeof given === 'function' && unsafe) return postgresConnection(unsafe);
  if (query && isMysql2(given)) return mysqlConnection(given, query);
  if (query && isPg(given)) return pgConnection(given, query);
  if (memberOf(given, 'prepare') && memberOf(given, 'exec'))
    throw new TypeError(`${EXPECTED}, got a synchronous SQLite database: import from holdfast-sql/sync`);
  throw new TypeError(`${EXPECTED}, got ${described(given)}`);
}

/** The connection of an open transaction. Pools are refused. */
export function adapt(given: unknown): AsyncConnection {
  if (!isObject(given)) throw new TypeError(`${EXPECTED}, got ${described(given)}`);
  const pool = poolName(given);
  if (pool !== null) throw new TypeError(`${EXPECTED}, got ${pool}; ${WHY_NO_POOL}`);
  return recognised(given);
}

/** For statements that stand alone: a pool will do. */
export function adaptAny(given: unknown): AsyncConnection {
  if (!isObject(given)) throw new TypeError(`${EXPECTED}, got ${described(given)}`);
  return recognised(given);
}
