/**
 * The public face of holdfast-sql. Every export is listed by name, also where `sync.ts` lists the same: `export *` would make
 * public whatever a shared file exports. surface.txt pins the list.
 *
 * In this folder: the two entries, this one and `sync.ts`, each with its verbs, and what they share: plans, checks,
 * codecs, errors. The folders below import all of these but the entries from here.
 */

export type { Codec } from './codec.ts';
export type {
  Mysql2Connection,
  PgClient,
  PostgresTransaction,
  SqlPool,
  SqlTransaction,
} from './connections/adapt.ts';
export type { Dialect, SqlSeam } from './connections/connection.ts';
export { isRetryable } from './dialects/error-codes.ts';
export type { TableNames } from './dialects/names.ts';
export { KeyMismatchError, NotInTransactionError, type StaleFence, StaleFenceError } from './errors.ts';
export type { Row, SqlResult } from './plan.ts';
export type { Fence, FencedLease } from './verbs/check-fence.ts';
export type { VerbOptions } from './verbs/context.ts';
export type { FencedUpdate } from './verbs/fenced-update.ts';
export type { IdempotentOptions } from './verbs/idempotent.ts';
export type { RetryOptions, TransactionOptions } from './verbs/retry.ts';
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
} from './verbs.ts';
