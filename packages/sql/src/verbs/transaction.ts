/** Whether a transaction is open, and how one is made impossible to commit. */
import { codesOf } from '../dialects/error-codes.ts';
import { NotInTransactionError } from '../errors.ts';
import { ask, type Plan, type SqlResult } from '../plan.ts';
import type { Context } from './context.ts';

const NONE = 'expected an open transaction, got none: each statement would commit by itself';
export const ENDED =
  'the database has ended this transaction: an error inside it was swallowed, and what was written since has committed by itself';

/** PostgreSQL: LOCK TABLE outside a transaction. */
const NO_ACTIVE_TRANSACTION = '25P01';
/** MySQL, MariaDB: a savepoint that does not exist. Without a transaction it vanishes as soon as it is made. */
const NO_SUCH_SAVEPOINT = 1305;

/** Runs a statement that fails with this code where no transaction is open. */
function* expectOpen(sql: string, code: string | number): Plan<SqlResult> {
  try {
    return yield* ask(sql);
  } catch (error) {
    if (codesOf(error).has(code)) throw new NotInTransactionError(NONE, { cause: error });
    throw error;
  }
}

/** Numbers savepoints: an inner one with the same name would replace the outer one. */
let savepoints = 0;

/** A savepoint of MySQL or SQLite, proved to be in a transaction before anything is written. */
export function* openSavepoint({ connection, dialect }: Context): Plan<string> {
  savepoints += 1;
  const name = `holdfast_${savepoints}`;
  // On SQLite a savepoint opens a transaction where there is none, so that this comes first.
  if (connection.inTransaction?.() === false) throw new NotInTransactionError(NONE);
  const { inTransaction } = yield* ask(`SAVEPOINT ${name}`);
  if (inTransaction === false) throw new NotInTransactionError(NONE);
  if (dialect === 'mysql' && inTransaction === undefined && connection.inTransaction === undefined)
    yield* expectOpen(`ROLLBACK TO SAVEPOINT ${name}`, NO_SUCH_SAVEPOINT);
  return name;
}

/**
 * Whether a savepoint can be made and removed, which PostgreSQL and MySQL allow inside a transaction only. Fails where
 * the transaction is aborted.
 */
export function* canSave({ dialect }: Context): Plan<boolean> {
  savepoints += 1;
  const name = `holdfast_${savepoints}`;
  const code = dialect === 'mysql' ? NO_SUCH_SAVEPOINT : NO_ACTIVE_TRANSACTION;
  try {
    yield* ask(`SAVEPOINT ${name}`);
    yield* ask(`RELEASE SAVEPOINT ${name}`);
    return true;
  } catch (error) {
    if (codesOf(error).has(code)) return false;
    throw error;
  }
}

/**
 * For PostgreSQL and SQLite, before the statement. Where a library does not tell, PostgreSQL is asked by a lock that every
 * reader takes anyway and that it grants only inside a transaction. It takes no snapshot.
 */
export function* requireTransaction({ connection, dialect, tables }: Context): Plan<void> {
  if (connection.inTransaction !== undefined) {
    if (!connection.inTransaction()) throw new NotInTransactionError(NONE);
  } else if (dialect === 'postgresql') {
    yield* expectOpen(`LOCK TABLE ${tables.fences} IN ACCESS SHARE MODE`, NO_ACTIVE_TRANSACTION);
  }
}

/**
 * For MySQL, after the statement, whose reply has the state of the transaction: no round trip more. A fence that was raised
 * outside a transaction does no harm.
 */
export function* requireTransactionAfter(
  context: Context,
  { inTransaction }: SqlResult,
  message: string = NONE,
): Plan<void> {
  const { connection, dialect } = context;
  const isOpen = inTransaction ?? connection.inTransaction?.();
  if (isOpen === false) throw new NotInTransactionError(message);
  if (isOpen === undefined && dialect === 'mysql') {
    savepoints += 1;
    yield* ask(`SAVEPOINT holdfast_${savepoints}`);
    yield* expectOpen(`RELEASE SAVEPOINT holdfast_${savepoints}`, NO_SUCH_SAVEPOINT);
  }
}

/**
 * Makes a transaction of PostgreSQL one that cannot commit, for code that swallows the error. The cast fails, and its text is
 * what the server's log shows. MySQL and SQLite have no such state: there a swallowed error lets the transaction commit.
 */
export function* abortTransaction({ dialect }: Context, why: string): Plan<void> {
  if (dialect !== 'postgresql') return;
  try {
    yield* ask(`SELECT CAST('holdfast: ${why}' AS integer)`);
  } catch {
    // The cast failed, which makes the transaction impossible to commit. If the connection is gone, nothing can commit either.
  }
}
