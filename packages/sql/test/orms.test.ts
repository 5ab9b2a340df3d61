/** The verbs inside transactions of Knex, Drizzle and TypeORM: the examples of this package, on both servers. */
import { sql as sqlOf } from 'drizzle-orm';
import { drizzle as drizzleMysql } from 'drizzle-orm/mysql2';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import knex from 'knex';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { beforeEach, describe, expect, test } from 'vitest';
import { rejection } from '../../holdfast/test/support/rejection.ts';
import { drizzleMysqlSeam, drizzlePgSeam, sellOnMysql, sellOnPg } from '../examples/drizzle.ts';
import { knexSeam, sell as sellByKnex } from '../examples/knex.ts';
import { sell as sellByTypeorm, typeormSeam } from '../examples/typeorm.ts';
import {
  checkFence,
  isRetryable,
  NotInTransactionError,
  type SqlSeam,
  StaleFenceError,
} from '../src/index.ts';
import { deadlock } from './support/conflicts.ts';
import { useDatabases } from './support/databases.ts';
import { mysql2Driver, pgDriver, type Session } from './support/sessions.ts';

const { databases, brands } = useDatabases('postgresql', 'mariadb');

type Sell = (fence: number, request: string) => Promise<number>;

interface Shop extends AsyncDisposable {
  readonly sell: Sell;
}

const shop = (sell: Sell, end: () => Promise<unknown>): Shop => ({
  sell,
  [Symbol.asyncDispose]: async () => void (await end()),
});

interface At {
  readonly host: string;
  readonly port: number;
  readonly database: string;
}

const ROWS = [
  {
    title: 'Knex on PostgreSQL',
    driver: pgDriver,
    open: (at: At): Shop => {
      const db = knex({ client: 'pg', connection: { ...at, user: 'test' }, pool: { min: 0, max: 2 } });
      return shop(
        (fence, request) => sellByKnex(db, 'postgresql', fence, request),
        () => db.destroy(),
      );
    },
  },
  {
    title: 'Knex on MariaDB',
    driver: mysql2Driver,
    open: (at: At): Shop => {
      const db = knex({ client: 'mysql2', connection: { ...at, user: 'root' }, pool: { min: 0, max: 2 } });
      return shop(
        (fence, request) => sellByKnex(db, 'mysql', fence, request),
        () => db.destroy(),
      );
    },
  },
  {
    title: 'Drizzle on PostgreSQL',
    driver: pgDriver,
    open: (at: At): Shop => {
      const pool = new pg.Pool({ ...at, user: 'test', max: 2 });
      return shop(
        (fence, request) => sellOnPg(drizzlePg(pool), fence, request),
        () => pool.end(),
      );
    },
  },
  {
    title: 'Drizzle on MariaDB',
    driver: mysql2Driver,
    open: (at: At): Shop => {
      const pool = mysql.createPool({ ...at, user: 'root', connectionLimit: 2 });
      return shop(
        (fence, request) => sellOnMysql(drizzleMysql(pool), fence, request),
        () => pool.end(),
      );
    },
  },
  {
    title: 'TypeORM on PostgreSQL',
    driver: pgDriver,
    open: async (at: At): Promise<Shop> => {
      const source = await new DataSource({ type: 'postgres', ...at, username: 'test' }).initialize();
      return shop(
        (fence, request) => sellByTypeorm(source, fence, request),
        () => source.destroy(),
      );
    },
  },
  {
    title: 'TypeORM on MariaDB',
    driver: mysql2Driver,
    open: async (at: At): Promise<Shop> => {
      const source = await new DataSource({ type: 'mariadb', ...at, username: 'root' }).initialize();
      return shop(
        (fence, request) => sellByTypeorm(source, fence, request),
        () => source.destroy(),
      );
    },
  },
];

describe.each(ROWS.filter(({ driver }) => brands.includes(driver.brand)))('$title', ({ driver, open }) => {
  let at: At;
  let session: Session;

  beforeEach(async () => {
    const database = await databases.create(driver.brand);
    at = { host: '127.0.0.1', port: databases.portOf(driver.brand), database };
    session = await databases.open(driver, database);
    await session.run('CREATE TABLE item (id INT PRIMARY KEY, stock INT, fence BIGINT NOT NULL DEFAULT 0)');
    await session.run('INSERT INTO item (id, stock) VALUES (1, 10)');
  });

  test('a sale counts once, a duplicate replays it, a late owner is refused and changes nothing', async () => {
    await using opened = await open(at);
    expect(await opened.sell(11, 'first')).toBe(9);
    expect(await opened.sell(11, 'first')).toBe(9);
    expect(await rejection(opened.sell(10, 'second'))).toBeInstanceOf(StaleFenceError);
    expect(await opened.sell(12, 'second')).toBe(8);
    expect(await session.run('SELECT stock FROM item')).toEqual([{ stock: 8 }]);
  });
});

/** Each runs the work in a transaction of its library, with what sends a statement there and the seam. */
const ON_MARIADB = [
  {
    title: 'Knex',
    transaction: async (at: At, work: Work) => {
      const db = knex({ client: 'mysql2', connection: { ...at, user: 'root' }, pool: { min: 0, max: 2 } });
      await db
        .transaction((trx) => work((sql) => trx.raw(sql), knexSeam(trx, 'mysql')))
        .finally(() => db.destroy());
    },
  },
  {
    title: 'Drizzle',
    transaction: async (at: At, work: Work) => {
      const pool = mysql.createPool({ ...at, user: 'root', connectionLimit: 2 });
      await drizzleMysql(pool)
        .transaction((tx) => work((sql) => tx.execute(sqlOf.raw(sql)), drizzleMysqlSeam(tx)))
        .finally(() => pool.end());
    },
  },
  {
    title: 'TypeORM',
    transaction: async (at: At, work: Work) => {
      const source = await new DataSource({ type: 'mariadb', ...at, username: 'root' }).initialize();
      await source
        .transaction((manager) => work((sql) => manager.query(sql), typeormSeam(manager)))
        .finally(() => source.destroy());
    },
  },
];

type Work = (run: (sql: string) => PromiseLike<unknown>, seam: SqlSeam) => Promise<void>;

describe.runIf(brands.includes('mariadb')).each(ON_MARIADB)('$title on MariaDB', ({ transaction }) => {
  test('after a swallowed deadlock checkFence says that the transaction is over', async () => {
    const database = await databases.create('mariadb');
    const other = await databases.open(mysql2Driver, database);
    await other.run('CREATE TABLE item (id INT PRIMARY KEY, stock INT)');
    await other.run('INSERT INTO item VALUES (1, 10), (2, 10)');
    const at = { host: '127.0.0.1', port: databases.portOf('mariadb'), database };
    const late = transaction(at, async (run, seam) => {
      const victim = { run: async (sql: string) => (await run(sql)) as never };
      expect(isRetryable(await deadlock(victim, other))).toBe(true);
      await checkFence(seam, { resource: 'stock', fence: 1 });
      await run('UPDATE item SET stock = 3 WHERE id = 1');
    });
    expect(await rejection(late)).toBeInstanceOf(NotInTransactionError);
    expect(await other.run('SELECT stock FROM item WHERE id = 1')).toEqual([{ stock: 10 }]);
  });
});

describe.runIf(brands.includes('postgresql'))('outside a transaction', () => {
  test('the pool of Drizzle and the manager of TypeORM are refused', async () => {
    const database = await databases.create('postgresql');
    const at = { host: '127.0.0.1', port: databases.portOf('postgresql'), database };
    const pool = new pg.Pool({ ...at, user: 'test', max: 2 });
    // What somebody passes who forgets to open a transaction: it has the same method.
    const seam = drizzlePgSeam(drizzlePg(pool) as never);
    expect(await rejection(checkFence(seam, { resource: 'r', fence: 1 }))).toBeInstanceOf(
      NotInTransactionError,
    );
    await pool.end();
    const source = await new DataSource({ type: 'postgres', ...at, username: 'test' }).initialize();
    expect(() => typeormSeam(source.manager)).toThrow('expected the manager of a transaction');
    await source.destroy();
  });
});
