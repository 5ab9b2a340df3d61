/**
 * The verbs of `verbs.ts` for SQLite's synchronous drivers. What a verb does is its plan, in `verbs/`; each entry runs the plans
 * under signatures of its own, one with promises and one without, so the two files import the same plans.
 */
import { checkFunction } from './checks.ts';
import { adaptSync, type SyncTransaction } from './connections/adapt-sync.ts';
import type { TableNames } from './dialects/names.ts';
import { runSync } from './plan.ts';
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
import { callPlan, type RetryOptions, retryPlan, transactionPlan } from './verbs/retry.ts';
import { CLEAN_UP_OPTIONS, type CleanUpOptions, cleanUpPlan, migratePlan } from './verbs/tables.ts';

/** While a promise is awaited, other requests would use the same connection, inside this transaction. */
function refusePromise<T>(what: string, value: T): T {
  if (typeof value === 'object' && value !== null && typeof Reflect.get(value, 'then') === 'function')
    throw new TypeError(
      `expected ${what} to be synchronous, got a promise: SQLite's drivers cannot wait inside a transaction`,
    );
  return value;
}

/** Records the fence, or throws `StaleFenceError`. The first statement of the transaction; open it with BEGIN IMMEDIATE. */
export function checkFence(db: SyncTransaction, lease: FencedLease | Fence, options: VerbOptions = {}): void {
  const connection = adaptSync(db);
  runSync(checkFencePlan(contextOf(connection, options), lease), connection.query);
}

export function checkFences(
  db: SyncTransaction,
  entries: readonly (FencedLease | Fence)[],
  options: VerbOptions = {},
): void {
  const connection = adaptSync(db);
  runSync(checkFencesPlan(contextOf(connection, options), entries), connection.query);
}

/** Changes exactly one row that has a column for the fence, or throws. */
export function fencedUpdate(db: SyncTransaction, update: FencedUpdate): void {
  const connection = adaptSync(db);
  runSync(fencedUpdatePlan(contextOf(connection), update), connection.query);
}

/** Runs the body once for each key, in the caller's transaction, and gives every caller its result. */
export function idempotent<T>(
  db: SyncTransaction,
  key: string,
  body: () => T,
  options: IdempotentOptions<T> = {},
): T {
  checkFunction('a body that is a function', body);
  const connection = adaptSync(db);
  const run = (): T => refusePromise('the body', body());
  return runSync(
    idempotentPlan(contextOf(connection, options, IDEMPOTENT_OPTIONS), key, run, options),
    connection.query,
  );
}

/** The function opens and ends a transaction of its own, a NEW one each time. */
export function retry<T>(run: () => T, options?: RetryOptions): T;
/** The function runs between BEGIN IMMEDIATE and COMMIT; after any error ROLLBACK is sent. */
export function retry<Db extends SyncTransaction, T>(db: Db, run: (db: Db) => T, options?: RetryOptions): T;
export function retry<T>(first: unknown, second?: unknown, third?: RetryOptions): T {
  if (typeof second !== 'function') {
    checkFunction('a function that opens a transaction, or a database and a function', first);
    const run = first as () => T;
    const noQuery = (): never => {
      throw new Error('expected no statement: the function sends its own');
    };
    const once = () => callPlan<T>(() => refusePromise('the function', run()));
    return runSync(retryPlan(once, second as RetryOptions | undefined), noQuery);
  }
  const connection = adaptSync(first);
  const run = () => refusePromise('the function', second(first));
  return runSync(
    retryPlan(() => transactionPlan<T>(contextOf(connection), run, {}), third),
    connection.query,
  );
}

/** Makes the tables where they are missing. */
export function migrate(db: SyncTransaction, names: TableNames = {}): void {
  const connection = adaptSync(db);
  runSync(migratePlan(contextOf(connection, { names })), connection.query);
}

/** Deletes old keys, in batches, and returns how many. */
export function cleanUp(db: SyncTransaction, options: CleanUpOptions): number {
  const connection = adaptSync(db);
  return runSync(cleanUpPlan(contextOf(connection, options, CLEAN_UP_OPTIONS), options), connection.query);
}

/** Forgets the fence of a resource. True when there was one. */
export function resetFence(db: SyncTransaction, resource: string, options: VerbOptions = {}): boolean {
  const connection = adaptSync(db);
  return runSync(resetFencePlan(contextOf(connection, options), resource), connection.query);
}
