/** What a program really hands in: the `sql` of `sql.begin`, clients out of pools, connections without promises. */
import type { Connection, RowDataPacket } from 'mysql2';
import mysql from 'mysql2';
import mysqlPromise from 'mysql2/promise';
import pg from 'pg';
import postgres from 'postgres';
import { describe, expect, onTestFinished, test } from 'vitest';
import { rejection } from '../../holdfast/test/support/rejection.ts';
import {
  checkFence,
  idempotent,
  NotInTransactionError,
  retry,
  type SqlTransaction,
  StaleFenceError,
} from '../src/index.ts';
import type { Brand } from './support/database-server.ts';
import { useDatabases } from './support/databases.ts';
import { mysql2Driver, pgDriver } from './support/sessions.ts';

const { databases, brands } = useDatabases('postgresql', 'mariadb');
const ADMIN = { postgresql: pgDriver, mariadb: mysql2Driver } as const;

/** What a sale says inside its transaction. */
type Run = (sql: string) => Promise<Record<string, unknown>[]>;
/** Runs the work in a transaction, as the documentation of the driver shows it, and again while that may help. */
type Transaction = <T>(work: (tx: SqlTransaction, run: Run) => Promise<T>) => Promise<T>;

interface Way {
  readonly title: string;
  readonly brand: Brand;
  /** Ends with the test. */
  open(port: number, database: string): Promise<Transaction>;
}

const at = (port: number, database: string) => ({ host: '127.0.0.1', port, database });

/** As a program without promises would write it. */
const withCallback =
  (connection: Connection): Run =>
  (sql) =>
    new Promise((resolve, reject) => {
      connection.query<RowDataPacket[]>(sql, (error, rows) => (error ? reject(error) : resolve(rows)));
    });

const WAYS: readonly Way[] = [
  {
    title: 'the sql that sql.begin of postgres passes on',
    brand: 'postgresql',
    async open(port, database) {
      const sql = postgres({ ...at(port, database), user: 'test', onnotice: () => {} });
      onTestFinished(() => sql.end({ timeout: 0 }));
      return async (work) => {
        const done: { value?: unknown } = {};
        await retry(() =>
          sql.begin(async (tx) => {
            done.value = await work(tx, async (text) => [...(await tx.unsafe(text))]);
          }),
        );
        return done.value as never;
      };
    },
  },
  {
    title: 'a client of pg out of pool.connect()',
    brand: 'postgresql',
    async open(port, database) {
      const pool = new pg.Pool({ ...at(port, database), user: 'test' });
      onTestFinished(() => pool.end());
      return async (work) => {
        const client = await pool.connect();
        try {
          return await retry(client, () => work(client, async (sql) => (await client.query(sql)).rows));
        } finally {
          client.release();
        }
      };
    },
  },
  {
    title: 'a connection of mysql2 without promises',
    brand: 'mariadb',
    async open(port, database) {
      const connection = mysql.createConnection({ ...at(port, database), user: 'root' });
      onTestFinished(() => connection.destroy());
      return (work) => retry(connection, () => work(connection, withCallback(connection)));
    },
  },
  {
    title: 'a connection out of pool.getConnection() of mysql2/promise',
    brand: 'mariadb',
    async open(port, database) {
      const pool = mysqlPromise.createPool({ ...at(port, database), user: 'root' });
      onTestFinished(() => pool.end());
      return async (work) => {
        const connection = await pool.getConnection();
        const run: Run = async (sql) => (await connection.query<RowDataPacket[]>(sql))[0];
        try {
          return await retry(connection, () => work(connection, run));
        } finally {
          connection.release();
        }
      };
    },
  },
  {
    title: 'a connection out of pool.getConnection() of mysql2 without promises',
    brand: 'mariadb',
    async open(port, database) {
      const pool = mysql.createPool({ ...at(port, database), user: 'root' });
      onTestFinished(() => new Promise<void>((resolve) => pool.end(() => resolve())));
      return (work) =>
        new Promise((resolve, reject) => {
          pool.getConnection((error, connection) => {
            if (error) return reject(error);
            retry(connection, () => work(connection, withCallback(connection)))
              .then(resolve, reject)
              .finally(() => connection.release());
          });
        });
    },
  },
];

describe.each(WAYS.filter(({ brand }) => brands.includes(brand)))('$title', ({ brand, open }) => {
  async function shop(): Promise<{ transaction: Transaction; stock: () => Promise<unknown> }> {
    const database = await databases.create(brand);
    const watcher = await databases.open(ADMIN[brand], database);
    await watcher.run('CREATE TABLE item (id INT PRIMARY KEY, stock INT)');
    await watcher.run('INSERT INTO item VALUES (1, 10)');
    const stock = async (): Promise<unknown> => (await watcher.run('SELECT stock FROM item'))[0]?.['stock'];
    return { transaction: await open(databases.portOf(brand), database), stock };
  }

  const sell = (transaction: Transaction, fence: number, order: string): Promise<number> =>
    transaction(async (tx, run) => {
      await checkFence(tx, { resource: 'stock', fence });
      return await idempotent(tx, order, async () => {
        await run('UPDATE item SET stock = stock - 1 WHERE id = 1');
        return Number((await run('SELECT stock FROM item WHERE id = 1'))[0]?.['stock']);
      });
    });

  test('sells, replays a duplicate, and refuses a stale fence', async () => {
    const { transaction, stock } = await shop();
    expect(await sell(transaction, 11, 'first')).toBe(9);
    expect(await sell(transaction, 11, 'first')).toBe(9);
    expect(await stock()).toBe(9);
    expect(await rejection(sell(transaction, 10, 'second'))).toBeInstanceOf(StaleFenceError);
    expect(await stock()).toBe(9);
    expect(await sell(transaction, 12, 'second')).toBe(8);
    expect(await stock()).toBe(8);
  });

  test('is rolled back after an error, and run again when that may help', async () => {
    const { transaction, stock } = await shop();
    let runs = 0;
    const conflict = Object.assign(new Error('a conflict'), { code: '40001', errno: 1213 });
    const left = await transaction(async (tx, run) => {
      runs += 1;
      await checkFence(tx, { resource: 'stock', fence: 11 });
      await run('UPDATE item SET stock = stock - 1 WHERE id = 1');
      if (runs < 3) throw conflict;
      return (await run('SELECT stock FROM item WHERE id = 1'))[0]?.['stock'];
    });
    expect([runs, left, await stock()]).toEqual([3, 9, 9]);
  });
});

test.runIf(brands.includes('postgresql'))(
  'the sql of a transaction of postgres that has ended is refused: its statements commit by themselves',
  async () => {
    const database = await databases.create('postgresql');
    const sql = postgres({ ...at(databases.portOf('postgresql'), database), user: 'test', max: 1 });
    onTestFinished(() => sql.end({ timeout: 0 }));
    let ended: SqlTransaction | null = null;
    await sql.begin(async (open) => {
      ended = open;
      await open.unsafe('SELECT 1');
    });
    // As in a program that forgets to await what it does in the transaction.
    const late = checkFence(ended as unknown as SqlTransaction, { resource: 'stock', fence: 1 });
    expect(await rejection(late)).toBeInstanceOf(NotInTransactionError);
    expect([...(await sql.unsafe('SELECT * FROM holdfast_fence'))]).toEqual([]);
  },
);
