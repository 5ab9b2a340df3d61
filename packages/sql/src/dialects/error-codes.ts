/** What an error of a database says, also when a library has wrapped it. */

/** How far an error is unwrapped. */
const DEPTH_MAX = 6;
/** Where libraries keep the error of the driver: the standard, TypeORM, Sequelize, MikroORM. */
const WRAPPERS = ['cause', 'driverError', 'original', 'previous'];
/** Where Prisma keeps it: a raw query has the code of the database in `meta`. */
const META = ['meta', 'driverAdapterError'];
const CODES = ['code', 'errno', 'errcode', 'originalCode', 'sqlState'];

function gather(error: unknown, depth: number, found: Set<string | number>): void {
  if (typeof error !== 'object' || error === null || depth > DEPTH_MAX) return;
  for (const name of CODES) {
    const code: unknown = Reflect.get(error, name);
    if (typeof code === 'string' || typeof code === 'number') found.add(code);
  }
  for (const name of [...WRAPPERS, ...META]) gather(Reflect.get(error, name), depth + 1, found);
}

/** Every code in an error and in those that it wraps. */
export function codesOf(error: unknown): ReadonlySet<string | number> {
  const found = new Set<string | number>();
  gather(error, 0, found);
  return found;
}

/** PostgreSQL: a serialization failure, a deadlock. Prisma's own name for both. */
const POSTGRESQL = ['40001', '40P01', 'P2034'];
/** MySQL, MariaDB: a deadlock, a snapshot that is too old, a lock that took too long. */
const MYSQL = [1213, 1020, 1205, 'ER_LOCK_DEADLOCK', 'ER_CHECKREAD', 'ER_LOCK_WAIT_TIMEOUT'];
const SQLITE_BUSY = /^SQLITE_BUSY/;
/** The primary code of SQLite is in the lowest byte; 5 is BUSY, of which BUSY_SNAPSHOT is a kind. */
const SQLITE_BUSY_CODE = 5;

/**
 * Whether a new transaction may succeed where this one failed. The transaction must be rolled back first, and all of it run
 * again. A lost connection is not among these errors: at COMMIT nobody knows whether it happened.
 */
export function isRetryable(error: unknown): boolean {
  const codes = codesOf(error);
  if ([...POSTGRESQL, ...MYSQL].some((code) => codes.has(code))) return true;
  const isSqlite = codes.has('ERR_SQLITE_ERROR');
  return [...codes].some((code) =>
    typeof code === 'string' ? SQLITE_BUSY.test(code) : isSqlite && (code & 0xff) === SQLITE_BUSY_CODE,
  );
}
