/** `holdfast-sql/sync`: the same for better-sqlite3 and node:sqlite. Every export is listed by name. */

export type { Codec } from './codec.ts';
export type { SyncDatabase, SyncStatement, SyncTransaction } from './connections/adapt-sync.ts';
export type { SyncSqlSeam } from './connections/connection.ts';
export { isRetryable } from './dialects/error-codes.ts';
export type { TableNames } from './dialects/names.ts';
export { KeyMismatchError, NotInTransactionError, type StaleFence, StaleFenceError } from './errors.ts';
export type { Row, SqlResult } from './plan.ts';
export type { Fence, FencedLease } from './verbs/check-fence.ts';
export type { VerbOptions } from './verbs/context.ts';
export type { FencedUpdate } from './verbs/fenced-update.ts';
export type { IdempotentOptions } from './verbs/idempotent.ts';
export type { RetryOptions } from './verbs/retry.ts';
export type { CleanUpOptions } from './verbs/tables.ts';
export {
  checkFence,
  checkFences,
  cleanUp,
  fencedUpdate,
  idempotent,
  migrate,
  resetFence,
  retry,
} from './verbs-sync.ts';
