/** `migrate` makes the tables, `cleanUp` removes old keys. Each statement stands alone: no transaction is needed. */
import { checkInteger, described } from '../checks.ts';
import { schemaOf } from '../dialects/schema.ts';
import { ask, type Plan } from '../plan.ts';
import type { Context, VerbOptions } from './context.ts';

/** Any number that nobody else uses: two processes that create the same table at the same time fail on PostgreSQL. */
const ADVISORY_LOCK = 7_233_948_210_417_265;

const BATCH = 1_000;

export interface CleanUpOptions extends VerbOptions {
  /** Keys that were made longer ago are deleted, and with them the protection against that request. */
  readonly keysOlderThanMs: number;
  /**
   * How many are deleted by one statement.
   *
   * @default 1_000
   */
  readonly batch?: number | undefined;
}

export const CLEAN_UP_OPTIONS: readonly string[] = ['keysOlderThanMs', 'batch'];

export function* migratePlan({ dialect, tables }: Context): Plan<void> {
  const statements = schemaOf(dialect, tables);
  if (dialect !== 'postgresql') {
    for (const sql of statements) yield* ask(sql);
    return;
  }
  // All in one statement: it is one transaction, inside the caller's own or not, so the advisory lock ends with it.
  const body = [`PERFORM pg_advisory_xact_lock(${ADVISORY_LOCK})`, ...statements].map((sql) => `${sql};`);
  yield* ask(`DO $holdfast$ BEGIN\n${body.join('\n')}\nEND $holdfast$`);
}

/** Skips keys that a transaction is reading now. */
const DELETE_OLD = {
  postgresql: (table: string) => `WITH old AS (
SELECT key FROM ${table} WHERE created < now() - CAST($1 AS double precision) * interval '1 millisecond'
ORDER BY created LIMIT CAST($2 AS integer) FOR UPDATE SKIP LOCKED)
DELETE FROM ${table} AS k USING old WHERE k.key = old.key RETURNING 1`,
  // A prepared statement of mysql2 binds numbers as doubles, which LIMIT refuses.
  mysql: (table: string, batch: number) => `DELETE FROM ${table}
WHERE created < UTC_TIMESTAMP(3) - INTERVAL CAST(? AS UNSIGNED) * 1000 MICROSECOND ORDER BY created LIMIT ${batch}`,
  sqlite: (table: string) => `DELETE FROM ${table} WHERE key IN (
SELECT key FROM ${table} WHERE created < unixepoch() * 1000 - ? ORDER BY created LIMIT ?) RETURNING 1`,
} as const;

/** How many were deleted. */
export function* cleanUpPlan({ dialect, tables }: Context, options: CleanUpOptions): Plan<number> {
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`expected { keysOlderThanMs }, got ${described(options)}`);
  const ageMs = checkInteger('keysOlderThanMs', options.keysOlderThanMs, 1);
  const batch = checkInteger('batch', options.batch ?? BATCH, 1);
  const params = dialect === 'mysql' ? [ageMs] : [ageMs, batch];
  for (let total = 0; ; ) {
    const { rows, count = 0 } = yield* ask(DELETE_OLD[dialect](tables.keys, batch), params);
    const deleted = dialect === 'mysql' ? count : rows.length;
    total += deleted;
    if (deleted < batch) return total;
  }
}
