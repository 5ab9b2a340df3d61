/** `checkFence`: an older fence cannot commit after a newer one's check has committed. */
import { checkFenceNumber, checkResource, described } from '../checks.ts';
import { StaleFenceError } from '../errors.ts';
import { ask, type Plan, type SqlResult, valuesOf } from '../plan.ts';
import { bound, type Context } from './context.ts';
import { abortTransaction, requireTransaction, requireTransactionAfter } from './transaction.ts';

export interface Fence {
  readonly resource: string;
  readonly fence: number;
}

/** A lease of a `holdfast` lock, whose name is the resource. */
export interface FencedLease {
  readonly name: string;
  readonly fence: number;
}

function fenceOf(given: unknown): Fence {
  if (typeof given !== 'object' || given === null)
    throw new TypeError(`expected a lease, or { resource, fence }, got ${described(given)}`);
  const { resource, name, fence } = given as Partial<Fence & FencedLease>;
  return { resource: checkResource(resource ?? name), fence: checkFenceNumber(fence) };
}

/** On a conflict the row is locked also when it is not changed, until the transaction ends. */
const UPSERT = {
  postgresql: (table: string) => `INSERT INTO ${table} AS f (resource, fence) VALUES ($1, CAST($2 AS bigint))
ON CONFLICT (resource) DO UPDATE SET fence = excluded.fence
WHERE f.fence <= excluded.fence RETURNING fence`,
  sqlite: (table: string) => `INSERT INTO ${table} (resource, fence) VALUES (?, ?)
ON CONFLICT (resource) DO UPDATE SET fence = excluded.fence
WHERE fence <= excluded.fence RETURNING fence`,
} as const;

/**
 * LAST_INSERT_ID(…) puts the fence that the row has afterwards into the reply. The column `seen` changes whenever the fence
 * passes, so that an equal fence and a stale one differ in affected rows. CAST, because a driver may bind a string or a
 * double, which GREATEST would compare as such.
 */
const MYSQL_UPSERT = (table: string) => `INSERT INTO ${table} (resource, fence, seen)
VALUES (?, LAST_INSERT_ID(CAST(? AS UNSIGNED)), 1)
ON DUPLICATE KEY UPDATE seen = IF(fence <= CAST(? AS UNSIGNED), seen + 1, seen),
fence = LAST_INSERT_ID(GREATEST(fence, CAST(? AS UNSIGNED)))`;

const PLACE = { postgresql: '$1', mysql: '?', sqlite: '?' } as const;

/** Locks on MySQL, where a plain SELECT may read an older snapshot. */
function* seenFence(context: Context, resource: string): Plan<number> {
  const { dialect, tables } = context;
  const lock = dialect === 'mysql' ? ' FOR UPDATE' : '';
  const { rows } = yield* ask(
    `SELECT fence FROM ${tables.fences} WHERE resource = ${PLACE[dialect]}${lock}`,
    [bound(context, resource)],
  );
  return Number(valuesOf(rows[0])[0]);
}

/**
 * The fence in the row after the upsert. Affected rows alone cannot tell: with CLIENT_FOUND_ROWS, which mysql2 sets, a fresh
 * row and a stale fence both give 1.
 */
function* fenceAfterUpsert(context: Context, { resource, fence }: Fence, result: SqlResult): Plan<number> {
  const { count, insertId } = result;
  // The id is the stored fence only if it is no smaller than ours: 0 stands for no id.
  if (insertId !== undefined && Number(insertId) >= fence) return Number(insertId);
  return count === 2 ? fence : yield* seenFence(context, resource);
}

function* checkOnMysql(context: Context, entry: Fence): Plan<number> {
  const { resource, fence } = entry;
  const sql = MYSQL_UPSERT(context.tables.fences);
  const result = yield* ask(sql, [bound(context, resource), fence, fence, fence]);
  yield* requireTransactionAfter(context, result);
  return yield* fenceAfterUpsert(context, entry, result);
}

export function* checkFencePlan(context: Context, given: unknown): Plan<void> {
  const { resource, fence } = fenceOf(given);
  const { dialect, tables } = context;
  let seen = fence;
  if (dialect === 'mysql') {
    seen = yield* checkOnMysql(context, { resource, fence });
  } else {
    yield* requireTransaction(context);
    const { rows } = yield* ask(UPSERT[dialect](tables.fences), [resource, fence]);
    if (rows.length === 0) seen = yield* seenFence(context, resource);
  }
  if (seen <= fence) return;
  yield* abortTransaction(context, 'this transaction has a stale fence');
  throw new StaleFenceError({ resource, fence, seen });
}

/** In the order of their bytes, whoever calls: two transactions in opposite orders would wait for each other. */
export function* checkFencesPlan(context: Context, given: unknown): Plan<void> {
  if (!Array.isArray(given)) throw new TypeError(`expected an array of fences, got ${described(given)}`);
  const entries = given
    .map(fenceOf)
    .sort((a, b) => Buffer.compare(Buffer.from(a.resource), Buffer.from(b.resource)));
  const twice = entries.find(({ resource }, at) => resource === entries[at - 1]?.resource);
  if (twice !== undefined)
    throw new TypeError(`expected each resource once, got ${described(twice.resource)} twice`);
  for (const entry of entries) yield* checkFencePlan(context, entry);
}

const DELETE = {
  postgresql: (table: string) => `DELETE FROM ${table} WHERE resource = $1 RETURNING fence`,
  mysql: (table: string) => `DELETE FROM ${table} WHERE resource = ?`,
  sqlite: (table: string) => `DELETE FROM ${table} WHERE resource = ? RETURNING fence`,
} as const;

/** Forgets the fence of a resource. True when there was one. */
export function* resetFencePlan(context: Context, resource: unknown): Plan<boolean> {
  const { dialect, tables } = context;
  const params = [bound(context, checkResource(resource))];
  const { rows, count = 0 } = yield* ask(DELETE[dialect](tables.fences), params);
  return dialect === 'mysql' ? count > 0 : rows.length > 0;
}
