/** What MariaDB says of the upsert of a fence: the table that the check rests on, with and without CLIENT_FOUND_ROWS. */
import mysql, { type ResultSetHeader } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkFence, type SqlSeam } from '../src/index.ts';
import { useDatabases } from './support/databases.ts';

const { databases, brands } = useDatabases('mariadb');
const STEPS = [
  ['insert', 5],
  ['equal', 5],
  ['newer', 6],
  ['stale', 5],
] as const;

const ROWS = [
  { flags: [], counts: [1, 2, 2, 1], naive: [1, 1, 2, 1] },
  { flags: ['-FOUND_ROWS'], counts: [1, 2, 2, 0], naive: [1, 0, 2, 0] },
].flatMap((row) => (['query', 'execute'] as const).map((how) => ({ ...row, how })));

describe.runIf(brands.length > 0).each(ROWS)('flags $flags by $how', ({ flags, counts, naive, how }) => {
  let connection: mysql.Connection;

  beforeAll(async () => {
    const database = await databases.create('mariadb');
    const at = { host: '127.0.0.1', port: databases.portOf('mariadb'), user: 'root', database };
    connection = await mysql.createConnection({ ...at, flags });
  });

  afterAll(() => connection?.end());

  async function send(sql: string, params: readonly unknown[]): Promise<ResultSetHeader> {
    const values = params as never[];
    const [header] =
      how === 'query'
        ? await connection.query<ResultSetHeader>(sql, values)
        : await connection.execute<ResultSetHeader>(sql, values);
    return header;
  }

  test('insert, equal and newer give the fence itself as insert id, stale a larger one; affected rows cannot decide alone', async () => {
    const replies: ResultSetHeader[] = [];
    const seam: SqlSeam = {
      dialect: 'mysql',
      inTransaction: () => true,
      async query(sql, params) {
        const header = await send(sql, params);
        // Beside it the server is asked by a savepoint whether a transaction is open.
        if (sql.includes('INSERT')) replies.push(header);
        return { rows: [], count: header.affectedRows, insertId: header.insertId };
      },
    };
    await connection.query('START TRANSACTION');
    for (const [, fence] of STEPS) await checkFence(seam, { resource: 'r', fence }).catch(() => {});
    await connection.query('ROLLBACK');
    expect(replies.map(({ affectedRows }) => affectedRows)).toEqual(counts);
    expect(replies.map(({ insertId }) => insertId)).toEqual([5, 5, 6, 6]);
  });

  test('with GREATEST alone a stale fence looks like an equal one', async () => {
    await connection.query('START TRANSACTION');
    const found: number[] = [];
    for (const [, fence] of STEPS) {
      const sql =
        'INSERT INTO holdfast_fence (resource, fence) VALUES (?, ?) ON DUPLICATE KEY UPDATE fence = GREATEST(fence, ?)';
      const header = await send(sql, ['n', fence, fence]);
      found.push(header.affectedRows);
    }
    await connection.query('ROLLBACK');
    expect(found).toEqual(naive);
  });
});
