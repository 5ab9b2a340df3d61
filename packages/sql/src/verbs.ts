/** The verbs for `pg`, `postgres`, `mysql2` and seams of other libraries. */
import { checkFunction } from './checks.ts';
import { adapt, adaptAny, type SqlPool, type SqlTransaction } from './connections/adapt.ts';
import type { TableNames } from './dialects/names.ts';
import { runAsync } from './plan.ts';
import {
  checkFencePlan,
  checkFencesPlan,
  type Fence,
  type FencedLease,
  resetFencePlan,
} from './verbs/check-fence.ts';
import { contextOf, type VerbOptions } from './verbs/context.ts';
import { type FencedUpdate, fencedUpdatePlan } from './verbs/fenced-update.ts';
import { IDEMPOTENT_OPTIONS, type IdempotentOptions, idempotentPlan } from './verbs/idempotent.ts';
import {
  callPlan,
  type RetryOptions,
  retryPlan,
  TRANSACTION_OPTIONS,
  type TransactionOptions,
  transactionPlan,
} from './verbs/retry.ts';
import { CLEAN_UP_OPTIONS, type CleanUpOptions, cleanUpPlan, migratePlan } from './verbs/tables.ts';

/**
 * Records the fence in the database, or throws `StaleFenceError` when it has seen a larger one. Must be the **first** statement
 * of the transaction: what was read before it may be out of date. Other transactions that check the same resource wait until
 * this one ends.
 */
export async function checkFence(
  tx: SqlTransaction,
  lease: FencedLease | Fence,
  options: VerbOptions = {},
): Promise<void> {
  const connection = adapt(tx);
  await runAsync(checkFencePlan(contextOf(connection, options), lease), connection.query);
}

/** Several fences, in an order that is the same in every process. */
export async function checkFences(
  tx: SqlTransaction,
  entries: readonly (FencedLease | Fence)[],
  options: VerbOptions = {},
): Promise<void> {
  const connection = adapt(tx);
  await runAsync(checkFencesPlan(contextOf(connection, options), entries), connection.query);
}

/** Changes exactly one row that has a column for the fence, or throws. */
export async function fencedUpdate(tx: SqlTransaction, update: FencedUpdate): Promise<void> {
  const connection = adapt(tx);
  await runAsync(fencedUpdatePlan(contextOf(connection), update), connection.query);
}

/**
 * Runs the body once for each key, and gives every caller its result. The key, the result and what the body writes in this
 * transaction commit together or not at all. A duplicate waits for the first caller to commit.
 */
export async function idempotent<T>(
  tx: SqlTransaction,
  key: string,
  body: () => Promise<T> | T,
  options: IdempotentOptions<T> = {},
): Promise<T> {
  const connection = adapt(tx);
  return await runAsync(
    idempotentPlan(contextOf(connection, options, IDEMPOTENT_OPTIONS), key, body, options),
    connection.query,
  );
}

/** The function opens and ends a transaction of its own, a NEW one each time. */
export async function retry<T>(run: () => Promise<T> | T, options?: RetryOptions): Promise<T>;
/** The function runs in a transaction that is opened, committed and, after any error, rolled back for it. */
export async function retry<Tx extends SqlTransaction, T>(
  connection: Tx,
  run: (tx: Tx) => Promise<T> | T,
  options?: TransactionOptions,
): Promise<T>;
export async function retry<T>(first: unknown, second?: unknown, third?: TransactionOptions): Promise<T> {
  if (typeof second !== 'function') {
    checkFunction('a function that opens a transaction, or a connection and a function', first);
    const run = first as () => unknown;
    const noQuery = (): never => {
      throw new Error('expected no statement: the function sends its own');
    };
    return await runAsync(
      retryPlan<T>(() => callPlan(run), second as RetryOptions | undefined),
      noQuery,
    );
  }
  const connection = adapt(first);
  const context = contextOf(connection);
  const once = () => transactionPlan<T>(context, () => second(first), third ?? {});
  return await runAsync(retryPlan(once, third, TRANSACTION_OPTIONS), connection.query);
}

/** Makes the tables where they are missing. Safe to call from many processes at the same time. */
export async function migrate(connection: SqlTransaction | SqlPool, names: TableNames = {}): Promise<void> {
  const adapted = adaptAny(connection);
  await runAsync(migratePlan(contextOf(adapted, { names })), adapted.query);
}

/** Deletes old keys, in batches, and returns how many. Fences are never deleted: that would let late writes in. */
export async function cleanUp(
  connection: SqlTransaction | SqlPool,
  options: CleanUpOptions,
): Promise<number> {
  const adapted = adaptAny(connection);
  return await runAsync(cleanUpPlan(contextOf(adapted, options, CLEAN_UP_OPTIONS), options), adapted.query);
}

/**
 * Forgets the fence of a resource, when a clock that was ahead has left one in the future (`aheadMs` of the error). True when
 * there was one. Until the next check any fence passes, also that of an owner that is late.
 */
export async function resetFence(
  tx: SqlTransaction,
  resource: string,
  options: VerbOptions = {},
): Promise<boolean> {
  const connection = adapt(tx);
  return await runAsync(resetFencePlan(contextOf(connection, options), resource), connection.query);
}
