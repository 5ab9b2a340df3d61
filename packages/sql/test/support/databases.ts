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

  /** An empty database with our tables; its name. The same one again and again: PostgreSQL takes a second for a new one. */
  async create(brand: Brand, isEmpty = false): Promise<string> {
    await this.#clear(brand);
    if (isEmpty) return DATABASE;
    const session = await ADMIN[brand].open(this.portOf(brand), DATABASE);
    await migrate(session.tx);
    await session.end();
    return DATABASE;
  }

  async #clear(brand: Brand): Promise<void> {
    const isNew = !this.#created.has(brand);
    this.#created.add(brand);
    const isPostgresql = brand === 'postgresql';
    const at = isPostgresql && !isNew ? DATABASE : FIRST_DATABASE[brand];
    const admin = await ADMIN[brand].open(this.portOf(brand), at);
    if (!isNew) await admin.run(isPostgresql ? 'DROP SCHEMA public CASCADE' : `DROP DATABASE ${DATABASE}`);
    await admin.run(isPostgresql && !isNew ? 'CREATE SCHEMA public' : `CREATE DATABASE ${DATABASE}`);
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
