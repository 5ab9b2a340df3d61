/** A server for each brand that a test file needs, and databases in them: an empty one, with our tables, for each test. */
import { afterAll, afterEach, beforeAll } from 'vitest';
import { migrate } from '../../src/index.ts';
import { type Brand, DatabaseServer, hasServer } from './database-server.ts';
import { type Driver, mysql2Driver, pgDriver, type Session } from './sessions.ts';

const FIRST_DATABASE: Readonly<Record<Brand, string>> = { postgresql: 'postgres', mariadb: '' };
const ADMIN: Readonly<Record<Brand, Driver>> = { postgresql: pgDriver, mariadb: mysql2Driver };

const DATABASE = 'test';

export class Databases {
  readonly #servers = new Map<Brand, DatabaseServer>();
  readonly #sessions: Session[] = [];
  readonly #created = new Set<Brand>();

  async start(brands: readonly Brand[]): Promise<void> {
    for (const brand of brands) {
      const server = new DatabaseServer(brand);
      await server.start();
      this.#servers.set(brand, server);
    }
  }

  async stop(): Promise<void> {
    for (const server of this.#servers.values()) await server.stop();
    this.#servers.clear();
  }

  portOf(brand: Brand): number {
    const server = this.#servers.get(brand);
    if (server === undefined) throw new Error(`expected ${brand} among the servers of this file`);
    return server.port;
  }

  /**
   * A database with our tables and nothing else; its name. The same one again and again: what is dropped and made anew has to
   * reach the disk.
   */
  async create(brand: Brand, isEmpty = false): Promise<string> {
    const isNew = !this.#created.has(brand);
    this.#created.add(brand);
    if (isNew) await this.#createDatabase(brand);
    const session = await ADMIN[brand].open(this.portOf(brand), DATABASE);
    for (const table of isNew ? [] : await tablesIn(session)) {
      const isOurs = ['holdfast_fence', 'holdfast_key'].includes(table);
      const name = brand === 'mariadb' ? `\`${table}\`` : `"${table}"`;
      await session.run(isOurs && !isEmpty ? `DELETE FROM ${name}` : `DROP TABLE ${name}`);
    }
    if (!isEmpty) await migrate(session.tx);
    await session.end();
    return DATABASE;
  }

  async #createDatabase(brand: Brand): Promise<void> {
    const admin = await ADMIN[brand].open(this.portOf(brand), FIRST_DATABASE[brand]);
    await admin.run(`CREATE DATABASE ${DATABASE}`);
    await admin.end();
  }

  /** Sessions end with the test. */
  async open(driver: Driver, database: string): Promise<Session> {
    const session = await driver.open(this.portOf(driver.brand), database);
    this.#sessions.push(session);
    return session;
  }

  async endSessions(): Promise<void> {
    await Promise.all(this.#sessions.splice(0).map((session) => session.end().catch(() => {})));
  }
}

/** The servers of a file. Those that are not installed are left out, and so are the rows that need them. */
export function useDatabases(...brands: Brand[]): {
  readonly databases: Databases;
  readonly brands: readonly Brand[];
} {
  const there = brands.filter(hasServer);
  const servers = new Databases();
  beforeAll(() => servers.start(there));
  afterEach(() => servers.endSessions());
  afterAll(() => servers.stop());
  return { databases: servers, brands: there };
}

/** In the present database of MariaDB, or in the schema of PostgreSQL that is searched. */
async function tablesIn(session: Session): Promise<string[]> {
  const rows = await session.run(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema IN ('public', 'test')",
  );
  return rows.map(({ name }) => String(name));
}
