/**
 * What the verbs see of a database connection, whichever driver or library it belongs to.
 *
 * In this folder: connections, and recognising them by their shape. Only the entries (`index.ts`, `sync.ts`,
 * `verbs.ts`, `verbs-sync.ts`), `dialects/` and `verbs/` import from here.
 */
import type { SqlResult } from '../plan.ts';

export type Dialect = 'postgresql' | 'mysql' | 'sqlite';

/**
 * The open transaction of a library that this package does not know: an ORM, a query builder, another driver. Statements have
 * `$1`, `$2` … on PostgreSQL and `?` elsewhere, each parameter once and in order.
 */
export interface SqlSeam {
  readonly dialect: Dialect;
  query(sql: string, params: readonly unknown[]): Promise<SqlResult>;
  /**
   * Whether a transaction is open: what the server says, not the library, whose flag stays true when the server has ended the
   * transaction. Without it the database is asked, by one or two more statements. SQLite needs it. Not read on MySQL and
   * MariaDB, which end a transaction at a deadlock: there the reply may tell (`inTransaction` of the result), or the database
   * is asked.
   */
  inTransaction?(): boolean;
}

/** `SqlSeam` for a synchronous library. */
export interface SyncSqlSeam {
  readonly dialect: 'sqlite';
  query(sql: string, params: readonly unknown[]): SqlResult;
  inTransaction(): boolean;
}

/** What is known about the transaction, without asking the database. */
export interface Connection {
  readonly dialect: Dialect;
  /** Absent where the driver does not tell. */
  readonly inTransaction?: (() => boolean) | undefined;
  /** Whether the reply to COMMIT has `command`: PostgreSQL answers ROLLBACK there when the transaction was aborted. */
  readonly tellsCommand?: boolean;
}

export interface AsyncConnection extends Connection {
  query(sql: string, params: readonly unknown[]): Promise<SqlResult>;
}

export interface SyncConnection extends Connection {
  readonly dialect: 'sqlite';
  readonly inTransaction: () => boolean;
  query(sql: string, params: readonly unknown[]): SqlResult;
}
