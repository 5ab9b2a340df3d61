/** Runs the rules of SQLite with one of its drivers and says how each went. Arguments: the driver, a folder for files. */
import { join } from 'node:path';
import { type Database, SQLITE_RULES } from '../support/sqlite-rules.ts';

const [driver = 'node:sqlite', folder = ''] = process.argv.slice(2);

/** `node:sqlite`, or the path of better-sqlite3. The types of Node 20 know neither. */
async function databaseClass(): Promise<new (file: string) => Database> {
  const module = (await import(driver)) as { DatabaseSync?: unknown; default?: unknown };
  return (module.DatabaseSync ?? module.default) as new (
    file: string,
  ) => Database;
}

const Opened = await databaseClass();
for (const [number, [rule, check]] of Object.entries(SQLITE_RULES).entries()) {
  const opened: Database[] = [];
  const open = (): Database => {
    const database = new Opened(join(folder, `rule-${number}.db`));
    database.exec('PRAGMA busy_timeout = 50');
    opened.push(database);
    return database;
  };
  let error: string | null = null;
  try {
    check(open);
  } catch (caught) {
    error = (caught as Error).stack ?? String(caught);
  }
  for (const database of opened) database.close();
  console.log(JSON.stringify({ rule, error }));
}
