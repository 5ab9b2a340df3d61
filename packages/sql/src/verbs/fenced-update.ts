/** `fencedUpdate`: one row with a fence of its own, changed only by a fence that is not older. */
import { checkFenceNumber, checkOptions, described } from '../checks.ts';
import { quoted } from '../dialects/names.ts';
import { StaleFenceError, shown } from '../errors.ts';
import { ask, type Plan, valuesOf } from '../plan.ts';
import type { Context } from './context.ts';
import { abortTransaction, requireTransaction, requireTransactionAfter } from './transaction.ts';

export interface FencedUpdate {
  /** A table, or a schema, a dot and a table. */
  readonly table: string;
  /** The columns that name one row, as a rule its primary key. */
  readonly where: Readonly<Record<string, unknown>>;
  readonly set: Readonly<Record<string, unknown>>;
  readonly fence: number;
  /**
   * `bigint NOT NULL DEFAULT 0`.
   *
   * @default 'fence'
   */
  readonly fenceColumn?: string;
}

const FIELDS = ['table', 'where', 'set', 'fence', 'fenceColumn'];

interface Columns {
  readonly names: readonly string[];
  readonly values: readonly unknown[];
}

function columnsOf({ dialect }: Context, what: string, given: unknown): Columns {
  const isRecord = typeof given === 'object' && given !== null && !Array.isArray(given);
  const entries: [string, unknown][] = isRecord ? Object.entries(given) : [];
  if (entries.length === 0)
    throw new TypeError(
      `expected ${what} to be an object of columns and values, got ${isRecord ? 'an empty one' : described(given)}`,
    );
  for (const [name, value] of entries) {
    if (value === undefined || (what === 'where' && value === null))
      throw new TypeError(`expected a value for the column ${described(name)} in ${what}, got ${value}`);
  }
  return {
    names: entries.map(([name]) => quoted(dialect, 'a column', name)),
    values: entries.map(([, value]) => value),
  };
}

/** Numbers the parameters of PostgreSQL; elsewhere each is a question mark. */
function placeholders({ dialect }: Context): () => string {
  let count = 0;
  return () => {
    count += 1;
    return dialect === 'postgresql' ? `$${count}` : '?';
  };
}

/** The fences of the rows, read under a lock. */
function* fencesOf(
  context: Context,
  table: string,
  column: string,
  where: Columns,
): Plan<readonly unknown[]> {
  const next = placeholders(context);
  const condition = where.names.map((name) => `${name} = ${next()}`).join(' AND ');
  const lock = context.dialect === 'sqlite' ? '' : ' FOR UPDATE';
  const { rows } = yield* ask(`SELECT ${column} FROM ${table} WHERE ${condition}${lock}`, where.values);
  return rows.map((row) => valuesOf(row)[0]);
}

/** For messages: the values may come from a request. */
function shownCondition(where: FencedUpdate['where']): string {
  const isPlain = (value: unknown): boolean => ['number', 'bigint', 'boolean'].includes(typeof value);
  return Object.entries(where)
    .map(([name, value]) => `${name}=${isPlain(value) ? String(value) : shown(String(value))}`)
    .join(',');
}

function conditionText(where: FencedUpdate['where']): string {
  return Object.entries(where)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(',');
}

interface Change {
  readonly set: Columns;
  readonly where: Columns;
  readonly fence: number;
}

/** Sends the update. Returns how many rows it has changed. */
function* changed(
  context: Context,
  table: string,
  column: string,
  { set, where, fence }: Change,
): Plan<number> {
  const { dialect } = context;
  const next = placeholders(context);
  const result = yield* ask(
    [
      `UPDATE ${table} SET ${[...set.names, column].map((name) => `${name} = ${next()}`).join(', ')}`,
      `WHERE ${where.names.map((name) => `${name} = ${next()}`).join(' AND ')} AND ${column} <= ${next()}`,
      ...(dialect === 'mysql' ? [] : [`RETURNING ${column}`]),
    ].join(' '),
    [...set.values, fence, ...where.values, fence],
  );
  if (dialect === 'mysql') yield* requireTransactionAfter(context, result);
  return dialect === 'mysql' ? (result.count ?? 0) : result.rows.length;
}

export function* fencedUpdatePlan(context: Context, given: FencedUpdate): Plan<void> {
  const { dialect } = context;
  checkOptions('what fencedUpdate is given', given, FIELDS);
  const fence = checkFenceNumber(given.fence);
  const table = quoted(dialect, 'table', given.table);
  const column = quoted(dialect, 'fenceColumn', given.fenceColumn ?? 'fence');
  const set = columnsOf(context, 'set', given.set);
  const where = columnsOf(context, 'where', given.where);
  if (set.names.includes(column))
    throw new TypeError(`expected set without the column of the fence, got ${column}`);
  if (dialect !== 'mysql') yield* requireTransaction(context);
  const count = yield* changed(context, table, column, { set, where, fence });
  if (count === 1) return;
  const row = `a row of ${given.table} with ${shownCondition(given.where)}`;
  if (count > 1) {
    yield* abortTransaction(context, 'fencedUpdate changed several rows');
    throw new RangeError(`expected one row, got ${count}: where must name ${row} alone; roll back`);
  }
  // None was changed: it is missing, it has a later fence or, without CLIENT_FOUND_ROWS, it had these very values.
  const found = yield* fencesOf(context, table, column, where);
  const [seen] = found;
  if (found.length !== 1) throw new RangeError(`expected ${row}, got ${found.length} such rows`);
  if (seen === null)
    throw new TypeError(`expected ${row} to have a fence, got null: make it NOT NULL DEFAULT 0`);
  if (Number(seen) <= fence) {
    // The row may have come between the two statements. It is locked now, so that this one finds it as it is.
    const again = yield* changed(context, table, column, { set, where, fence });
    if (again === 1 || dialect === 'mysql') return;
    throw new RangeError(`expected ${row} to be changed, got ${again} changes: a trigger or a rule keeps it`);
  }
  yield* abortTransaction(context, 'this transaction has a stale fence');
  throw new StaleFenceError({
    resource: `${given.table}:${conditionText(given.where)}`,
    fence,
    seen: Number(seen),
  });
}
