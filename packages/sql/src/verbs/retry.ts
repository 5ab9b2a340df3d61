/** `retry`: runs a whole transaction again after an error that a new transaction may not meet. */
import { checkFunction, checkInteger, checkOptions, described } from '../checks.ts';
import type { Dialect } from '../connections/connection.ts';
import { isRetryable } from '../dialects/error-codes.ts';
import { NotInTransactionError } from '../errors.ts';
import { ask, type Plan } from '../plan.ts';
import type { Context } from './context.ts';
import { canSave, ENDED } from './transaction.ts';

const ATTEMPTS = 5;
/** The first pause, at most. It doubles: those who ran into each other should not meet again. */
const PAUSE_MS = 10;

const ISOLATIONS = ['read committed', 'repeatable read', 'serializable'] as const;

export interface RetryOptions {
  /** @default 5 */
  readonly attempts?: number | undefined;
}

export interface TransactionOptions extends RetryOptions {
  /** The database's own by default. SQLite has one only, and a transaction there takes the write lock at once. */
  readonly isolation?: (typeof ISOLATIONS)[number] | undefined;
}

const RETRY_OPTIONS: readonly string[] = ['attempts'];
export const TRANSACTION_OPTIONS: readonly string[] = [...RETRY_OPTIONS, 'isolation'];

/** Runs again while the error is retryable and attempts are left. */
export function* retryPlan<T>(
  once: () => Plan<T>,
  options: RetryOptions = {},
  known: readonly string[] = RETRY_OPTIONS,
): Plan<T> {
  checkOptions('the options', options, known);
  const { attempts = ATTEMPTS } = options;
  checkInteger('attempts', attempts, 1);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return yield* once();
    } catch (error) {
      if (attempt >= attempts || !isRetryable(error)) throw error;
    }
    yield { sleepMs: Math.random() * PAUSE_MS * 2 ** attempt };
  }
}

/** The caller's function opens and ends the transaction, as those of ORMs and of `sql.begin` do. */
export function* callPlan<T>(run: () => unknown): Plan<T> {
  // A runner answers a call with what it returned.
  return (yield { call: run }) as T;
}

function beginning(dialect: Dialect, isolation: TransactionOptions['isolation']): readonly string[] {
  const usual = { postgresql: 'BEGIN', mysql: 'START TRANSACTION', sqlite: 'BEGIN IMMEDIATE' };
  if (isolation === undefined) return [usual[dialect]];
  if (!ISOLATIONS.includes(isolation))
    throw new TypeError(
      `expected isolation to be one of ${ISOLATIONS.join(', ')}, got ${described(isolation)}`,
    );
  if (dialect === 'sqlite') return [usual.sqlite];
  const level = `ISOLATION LEVEL ${isolation.toUpperCase()}`;
  return dialect === 'mysql' ? [`SET TRANSACTION ${level}`, 'START TRANSACTION'] : [`BEGIN ${level}`];
}

/** Whether a transaction is open. MySQL tells in the reply to any statement; where nobody tells, a savepoint does. */
function* isOpen(context: Context): Plan<boolean> {
  const { connection, dialect } = context;
  if (connection.inTransaction !== undefined) return connection.inTransaction();
  const told = dialect === 'mysql' ? (yield* ask('DO 0')).inTransaction : undefined;
  return told ?? (yield* canSave(context));
}

const ABORTED = 'this transaction is aborted: an error inside it was swallowed';

/** Commits. COMMIT of an aborted transaction is a silent ROLLBACK on PostgreSQL, and of an ended one nothing on MySQL. */
function* commit(context: Context): Plan<void> {
  const { connection, dialect } = context;
  if (!(yield* isOpen(context))) throw new NotInTransactionError(ENDED);
  // Fails in an aborted transaction.
  if (dialect === 'postgresql' && connection.tellsCommand !== true) yield* ask('SELECT 1');
  const { command } = yield* ask('COMMIT');
  if (connection.tellsCommand === true && command !== 'COMMIT') throw new NotInTransactionError(ABORTED);
}

/** One transaction around the caller's function. Whatever goes wrong, ROLLBACK is sent before anything else. */
export function* transactionPlan<T>(
  context: Context,
  run: () => unknown,
  { isolation }: TransactionOptions,
): Plan<T> {
  checkFunction('a function that does the work', run);
  const begin = beginning(context.dialect, isolation);
  // A second BEGIN would commit the open transaction on MySQL, and mean nothing on PostgreSQL.
  if (yield* isOpen(context))
    throw new NotInTransactionError(
      'expected a connection without a transaction, got one inside: retry opens its own',
    );
  try {
    for (const sql of begin) yield* ask(sql);
    const value = yield* callPlan<T>(run);
    yield* commit(context);
    return value;
  } catch (error) {
    try {
      yield* ask('ROLLBACK');
    } catch {
      // No transaction is left to roll back, or no connection, with which the transaction ends.
    }
    throw error;
  }
}
