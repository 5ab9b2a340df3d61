/** `idempotent`: the key, the result and what the body writes commit together, once. */
import { checkFunction, checkInteger, checkKey, checkPrint } from '../checks.ts';
import { bytesOf, type Codec, codecOf, encoded } from '../codec.ts';
import { KeyMismatchError, NotInTransactionError, shown } from '../errors.ts';
import { ask, type Plan, valuesOf } from '../plan.ts';
import { bound, type Context, type VerbOptions } from './context.ts';
import {
  abortTransaction,
  ENDED,
  openSavepoint,
  requireTransaction,
  requireTransactionAfter,
} from './transaction.ts';

/** Keys are kept for days, many of them: a large result belongs in a table of its own. */
const RESULT_BYTES_MAX = 65_536;

export interface IdempotentOptions<T> extends VerbOptions {
  /** A digest of the request, for example a hash of its body: the same key with another request is an error. At most 128 bytes. */
  readonly fingerprint?: string | undefined;
  /** JSON by default. */
  readonly codec?: Codec<T> | undefined;
  /** @default 65_536 */
  readonly maxBytes?: number | undefined;
}

export const IDEMPOTENT_OPTIONS: readonly string[] = ['fingerprint', 'codec', 'maxBytes'];

interface Claim {
  readonly isOurs: boolean;
  readonly result: unknown;
  readonly print: unknown;
}

/** Claims the key or waits for its owner, and reads the result: one statement, so that no clean-up can come between. */
const CLAIM = {
  postgresql: (table: string) => `INSERT INTO ${table} AS k (key, print) VALUES ($1, $2)
ON CONFLICT (key) DO UPDATE SET hits = k.hits + 1 RETURNING hits, result, print`,
  sqlite: (table: string) => `INSERT INTO ${table} (key, print, created) VALUES (?, ?, unixepoch() * 1000)
ON CONFLICT (key) DO UPDATE SET hits = hits + 1 RETURNING hits, result, print`,
} as const;

const MYSQL_CLAIM = (
  table: string,
) => `INSERT INTO ${table} (\`key\`, print, created) VALUES (?, ?, UTC_TIMESTAMP(3))
ON DUPLICATE KEY UPDATE hits = hits + 1`;

/** LOCK IN SHARE MODE reads what is committed, whatever snapshot the transaction has. */
const MYSQL_READ = (table: string) =>
  `SELECT hits, result, print FROM ${table} WHERE \`key\` = ? LOCK IN SHARE MODE`;

const STORE = {
  postgresql: (table: string) =>
    `UPDATE ${table} SET result = $1 WHERE key = $2 AND result IS NULL RETURNING hits`,
  mysql: (table: string) => `UPDATE ${table} SET result = ? WHERE \`key\` = ? AND result IS NULL`,
  sqlite: (table: string) => `UPDATE ${table} SET result = ? WHERE key = ? AND result IS NULL RETURNING hits`,
} as const;

/** Affected rows of an upsert on MySQL. */
const INSERTED = 1;

function* claim(context: Context, key: string, print: string): Plan<Claim> {
  const { dialect, tables } = context;
  const params = [bound(context, key), bound(context, print)];
  let rows: readonly unknown[] = [];
  if (dialect === 'mysql') {
    const { count } = yield* ask(MYSQL_CLAIM(tables.keys), params);
    if (count === INSERTED) return { isOurs: true, result: null, print };
    ({ rows } = yield* ask(MYSQL_READ(tables.keys), [bound(context, key)]));
  } else {
    ({ rows } = yield* ask(CLAIM[dialect](tables.keys), params));
  }
  const [hits, result, stored] = valuesOf(rows[0] as readonly unknown[]);
  return { isOurs: Number(hits) === 0, result, print: stored };
}

/** Stands for the affected rows where a library hides them: 1 when the key has a result in this transaction. */
function* isStored(context: Context, key: string): Plan<number> {
  const { rows } = yield* ask(MYSQL_READ(context.tables.keys), [bound(context, key)]);
  return valuesOf(rows[0])[1] == null ? 0 : 1;
}

function* store(context: Context, key: string, bytes: Buffer): Plan<void> {
  const { dialect, tables } = context;
  // An UPDATE outside the transaction would find no row, or wait for the row of another transaction and not match it.
  const result = yield* ask(STORE[dialect](tables.keys), [bytes, bound(context, key)]);
  const count = dialect === 'mysql' ? (result.count ?? (yield* isStored(context, key))) : result.rows.length;
  if (count !== 1) throw new NotInTransactionError(ENDED);
  yield* requireTransactionAfter(context, result, ENDED);
}

/**
 * Undoes the key and what the body wrote, for code that swallows the error: on PostgreSQL by aborting the transaction,
 * elsewhere by going back to the savepoint.
 */
function* undo(context: Context, savepoint: string | null): Plan<void> {
  if (savepoint === null) return yield* abortTransaction(context, 'the body of an idempotent call failed');
  try {
    yield* ask(`ROLLBACK TO SAVEPOINT ${savepoint}`);
  } catch {
    // The database has ended the transaction, and with it the savepoint.
  }
}

function checkReplay(key: string, { result, print }: Claim, wanted: string): void {
  const stored = Buffer.from(bytesOf(print)).toString();
  // Who gives no fingerprint asks for no comparison, and what has none cannot be compared.
  if (stored !== '' && wanted !== '' && stored !== wanted) throw new KeyMismatchError(key);
  if (result === null)
    throw new Error(`the key ${shown(key)} has no result yet: its body calls idempotent with the same key`);
}

/** Runs the body and stores its result, or undoes both. */
function* runBody<T>(
  context: Context,
  key: string,
  body: () => unknown,
  toBytes: (value: T) => Buffer,
  savepoint: string | null,
): Plan<Buffer> {
  try {
    // A runner answers a call with what it returned, awaited where that is possible.
    const bytes = toBytes((yield { call: body }) as T);
    if (context.connection.inTransaction?.() === false) throw new NotInTransactionError(ENDED);
    yield* store(context, key, bytes);
    return bytes;
  } catch (error) {
    yield* undo(context, savepoint);
    throw error;
  }
}

export function* idempotentPlan<T>(
  context: Context,
  givenKey: unknown,
  body: () => unknown,
  { fingerprint, codec: given, maxBytes = RESULT_BYTES_MAX }: IdempotentOptions<T> = {},
): Plan<T> {
  const key = checkKey(givenKey);
  checkFunction('a body that is a function', body);
  const print = fingerprint === undefined ? '' : checkPrint(fingerprint);
  const bytesMax = checkInteger('maxBytes', maxBytes, 1);
  const codec = codecOf(given);
  let savepoint: string | null = null;
  if (context.dialect === 'postgresql') yield* requireTransaction(context);
  else savepoint = yield* openSavepoint(context);
  const claimed = yield* claim(context, key, print);
  if (claimed.isOurs) {
    const bytes = yield* runBody(
      context,
      key,
      body,
      (value: T) => encoded(codec, value, bytesMax),
      savepoint,
    );
    // The first caller gets what the codec makes of the value, and not the value itself: all callers get the same.
    return codec.decode(bytes);
  }
  checkReplay(key, claimed, print);
  return codec.decode(bytesOf(claimed.result));
}
