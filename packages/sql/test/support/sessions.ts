/** Sessions with a database, one for each driver and setting: what a test says in SQL, and the transaction for the verbs. */
import mysql from 'mysql2';
import type { Connection as MysqlConnection } from 'mysql2/promise';
import pg from 'pg';
import postgres from 'postgres';
import { mysqlResult } from '../../src/connections/adapt.ts';
import type { SqlSeam, SqlTransaction } from '../../src/index.ts';
import type { Brand } from './database-server.ts';

export type Isolation = 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';

export interface Session {
  /** What the verbs get. */
  readonly tx: SqlTransaction;
  /** Parameters are question marks. */
  run(sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  begin(isolation?: Isolation): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  end(): Promise<void>;
}

export interface Driver {
  readonly title: string;
  readonly brand: Brand;
  open(port: number, database: string): Promise<Session>;
}

type Run = Session['run'];

function numbered(sql: string): string {
  let count = 0;
  return sql.replaceAll('?', () => {
    count += 1;
    return `$${count}`;
  });
}

function session(tx: SqlTransaction, run: Run, end: () => Promise<unknown>, isMysql: boolean): Session {
  return {
    tx,
    run,
    async begin(isolation) {
      if (isMysql && isolation !== undefined) await run(`SET TRANSACTION ISOLATION LEVEL ${isolation}`);
      await run(isMysql ? 'START TRANSACTION' : `BEGIN${isolation ? ` ISOLATION LEVEL ${isolation}` : ''}`);
    },
    commit: async () => void (await run('COMMIT')),
    rollback: async () => void (await run('ROLLBACK')),
    end: async () => void (await end()),
  };
}

export const pgDriver: Driver = {
  title: 'pg',
  brand: 'postgresql',
  async open(port, database) {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'test', database });
    // A server that ends a session says so here as well.
    client.on('error', () => {});
    await client.connect();
    const run: Run = async (sql, params = []) => (await client.query(numbered(sql), [...params])).rows;
    return session(client, run, () => client.end(), false);
  },
};

const postgresDriver: Driver = {
  title: 'postgres',
  brand: 'postgresql',
  async open(port, database) {
    const sql = postgres({ host: '127.0.0.1', port, user: 'test', database, max: 1, onnotice: () => {} });
    const reserved = await sql.reserve();
    const run: Run = async (text, params = []) => [
      ...(await reserved.unsafe(numbered(text), params as never[])),
    ];
    // At once: it would wait for the connection that is reserved.
    return session(reserved, run, () => sql.end({ timeout: 0 }), false);
  },
};

function mysqlRun(connection: MysqlConnection): Run {
  return async (sql, params = []) => {
    const [rows] = await connection.query(sql, [...params]);
    return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
  };
}

/** `flags` as mysql2 takes them: `-FOUND_ROWS` turns off what it sets by itself. */
function mysqlDriver(
  title: string,
  flags: string[],
  seam?: (connection: MysqlConnection) => SqlSeam,
): Driver {
  return {
    title,
    brand: 'mariadb',
    async open(port, database) {
      const connection = mysql.createConnection({ host: '127.0.0.1', port, user: 'root', database, flags });
      connection.on('error', () => {});
      const promised = connection.promise();
      await promised.connect();
      const tx = seam === undefined ? promised : seam(promised);
      return session(tx, mysqlRun(promised), () => promised.end(), true);
    },
  };
}

export const mysql2Driver: Driver = mysqlDriver('mysql2', []);
const mysql2Unfound = mysqlDriver('mysql2 without FOUND_ROWS', ['-FOUND_ROWS']);
/** As a library may hide what is in the reply: neither the insert id nor the state of the transaction. */
const hidden = (connection: MysqlConnection): SqlSeam => ({
  dialect: 'mysql',
  async query(sql, params) {
    const [answer] = await connection.query(sql, [...params]);
    const { rows, count } = mysqlResult(answer);
    return { rows, count };
  },
});
const prepared = (connection: MysqlConnection): SqlSeam => ({
  dialect: 'mysql',
  async query(sql, params) {
    // Savepoints cannot be prepared.
    const isPlain = params.length === 0;
    const [answer] = isPlain ? await connection.query(sql) : await connection.execute(sql, params as never[]);
    return mysqlResult(answer);
  },
});
/** As an ORM for PostgreSQL: it does not tell whether a transaction is open. */
const silentPg: Driver = {
  title: 'a silent seam for PostgreSQL',
  brand: 'postgresql',
  async open(port, database) {
    const opened = await pgDriver.open(port, database);
    const client = opened.tx as pg.Client;
    const query: SqlSeam['query'] = async (sql, params) => ({
      rows: (await client.query(sql, [...params])).rows,
    });
    return { ...opened, tx: { dialect: 'postgresql', query } };
  },
};

export const DRIVERS: readonly Driver[] = [
  pgDriver,
  postgresDriver,
  silentPg,
  mysql2Driver,
  mysql2Unfound,
  mysqlDriver('mysql2 prepared', [], prepared),
  mysqlDriver('mysql2 prepared, without FOUND_ROWS', ['-FOUND_ROWS'], prepared),
  mysqlDriver('a silent seam for MariaDB', [], hidden),
  mysqlDriver('a silent seam for MariaDB, without FOUND_ROWS', ['-FOUND_ROWS'], hidden),
];
