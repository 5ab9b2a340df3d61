/** The same stock in a file of SQLite that all shops open. The database refuses the late writer. */
import { checkFence, migrate, retry, StaleFenceError, type SyncDatabase } from 'holdfast-sql/sync';
import type { Stock } from './stock.ts';

/** Node has it from version 22.13 on; the types of older versions do not know it. */
interface SqliteModule {
  readonly DatabaseSync: new (file: string) => SyncDatabase;
}

const RESOURCE = 'stock';

export async function openSqliteStock(file: string): Promise<Stock> {
  const name = 'node:sqlite';
  const { DatabaseSync } = (await import(name)) as SqliteModule;
  const db = new DatabaseSync(file);
  // Shops wait for each other's transactions, which are short.
  db.exec('PRAGMA busy_timeout = 10000');
  // Several shops open the file at the same time: one of them may find it busy.
  retry(() => db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF'));
  retry(() => migrate(db));
  retry(() =>
    db.exec('CREATE TABLE IF NOT EXISTS stock (id INTEGER PRIMARY KEY, remaining INTEGER NOT NULL)'),
  );
  retry(() => db.exec('INSERT OR IGNORE INTO stock VALUES (1, 0)'));

  const select = (): number => {
    const [row] = db.prepare('SELECT remaining FROM stock').all() as { remaining: number }[];
    return row?.remaining ?? 0;
  };
  const update = (left: number): void => {
    db.prepare('UPDATE stock SET remaining = ?').run(left as never);
  };

  return {
    async read(fence) {
      if (fence === undefined) return select();
      return retry(db, () => {
        checkFence(db, { resource: RESOURCE, fence });
        return select();
      });
    },
    async write(left) {
      retry(() => update(left));
    },
    async writeFenced(left, fence) {
      try {
        retry(db, () => {
          checkFence(db, { resource: RESOURCE, fence });
          update(left);
        });
        return true;
      } catch (error) {
        if (error instanceof StaleFenceError) return false;
        throw error;
      }
    },
  };
}
