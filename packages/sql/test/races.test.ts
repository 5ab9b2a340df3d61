/** What comes between two statements of a verb, and what a library does not tell: no verb calls a failure a success. */
import { describe, expect, test } from 'vitest';
import { rejection } from '../../holdfast/test/support/rejection.ts';
import { fencedUpdate, idempotent, NotInTransactionError, retry, type SqlSeam } from '../src/index.ts';
import { useDatabases } from './support/databases.ts';
import { DRIVERS, type Driver, mysql2Driver, pgDriver, type Session } from './support/sessions.ts';

const { databases, brands } = useDatabases('postgresql', 'mariadb');
const here = (drivers: readonly Driver[]): Driver[] => drivers.filter(({ brand }) => brands.includes(brand));

const UPDATE = { table: 'item', where: { id: 1 }, set: { stock: 5 }, fence: 10 } as const;

/** The session as a seam; `before` runs before each statement of that kind. */
function seamOf({ run }: Session, brand: Driver['brand'], before: (sql: string) => unknown): SqlSeam {
  return {
    dialect: brand === 'mariadb' ? 'mysql' : 'postgresql',
    async query(sql, params) {
      await before(sql);
      return { rows: await run(sql.replaceAll(/\$\d+/g, '?'), params) };
    },
  };
}

async function open(driver: Driver): Promise<[Session, Session]> {
  const database = await databases.create(driver.brand);
  const sessions = [await databases.open(driver, database), await databases.open(driver, database)] as const;
  await sessions[0].run('CREATE TABLE item (id INT PRIMARY KEY, stock INT, fence BIGINT NOT NULL DEFAULT 0)');
  return [...sessions];
}

describe.each(here([pgDriver, mysql2Driver]))('on $title', (driver) => {
  test('fencedUpdate changes a row that comes between its update and its look for the reason', async () => {
    const [ours, other] = await open(driver);
    const seam = seamOf(ours, driver.brand, async (sql) => {
      if (sql.startsWith('SELECT')) await other.run('INSERT INTO item VALUES (1, 9, 3)');
    });
    // Under repeatable read the row could not come, or would not be seen.
    await ours.begin('READ COMMITTED');
    await fencedUpdate(seam, UPDATE);
    await ours.commit();
    const rows = await other.run('SELECT stock, fence FROM item');
    expect(rows.map(({ stock, fence }) => [stock, Number(fence)])).toEqual([[5, 10]]);
  });
});

/** What a driver says of a connection that is gone. */
const LOST = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

describe.each(here([pgDriver, mysql2Driver]))('a connection that is lost at COMMIT, on $title', (driver) => {
  test('is not retried: nobody knows whether the transaction has committed; with idempotent it can be', async () => {
    const [ours, other] = await open(driver);
    const seam = seamOf(ours, driver.brand, () => {});
    const losing: SqlSeam = {
      ...seam,
      async query(sql, params) {
        const result = await seam.query(sql, params);
        if (sql === 'COMMIT') throw LOST;
        return result;
      },
    };
    let transactions = 0;
    const sell = (tx: SqlSeam): Promise<string> =>
      retry(tx, () => {
        transactions += 1;
        return idempotent(tx, 'sale', async () => {
          await ours.run('INSERT INTO item VALUES (?, 9, 3)', [transactions]);
          return `sold by ${transactions}`;
        });
      });
    expect(await rejection(sell(losing))).toBe(LOST);
    expect(transactions).toBe(1);
    // It had committed.
    expect(await sell(seam)).toBe('sold by 1');
    expect(await other.run('SELECT id FROM item')).toEqual([{ id: 1 }]);
  });

  test('nor is one that the server has ended', async () => {
    const [ours, other] = await open(driver);
    const isPg = driver.brand === 'postgresql';
    const [me] = await ours.run(isPg ? 'SELECT pg_backend_pid() AS id' : 'SELECT CONNECTION_ID() AS id');
    let runs = 0;
    const cut = retry(ours.tx, async () => {
      runs += 1;
      await ours.run('INSERT INTO item VALUES (1, 9, 3)');
      await other.run(isPg ? 'SELECT pg_terminate_backend(?)' : 'KILL ?', [Number(me?.['id'])]);
    });
    await rejection(cut);
    expect(runs).toBe(1);
    expect(await other.run('SELECT id FROM item')).toEqual([]);
  });
});

test.runIf(brands.includes('mariadb'))(
  'idempotent stores and replays through a library that hides affected rows',
  async () => {
    const [ours] = await open(mysql2Driver);
    const seam = seamOf(ours, 'mariadb', () => {});
    for (const value of [1, 2]) {
      await ours.begin();
      expect(await idempotent(seam, 'key', () => ({ value }))).toEqual({ value: 1 });
      await ours.commit();
    }
  },
);

describe.each(here(DRIVERS))('retry on $title', (driver) => {
  test('is refused inside an open transaction, which BEGIN would commit or join', async () => {
    const [ours, other] = await open(driver);
    await ours.begin();
    await ours.run('INSERT INTO item VALUES (1, 9, 3)');
    expect(await rejection(retry(ours.tx, () => 1))).toBeInstanceOf(NotInTransactionError);
    await ours.rollback();
    expect(await other.run('SELECT id FROM item')).toEqual([]);
  });

  test('is no success when its function has ended the transaction', async () => {
    const [ours] = await open(driver);
    const ended = retry(ours.tx, async () => {
      await ours.run('INSERT INTO item VALUES (1, 9, 3)');
      await ours.rollback();
    });
    expect(await rejection(ended)).toBeInstanceOf(NotInTransactionError);
    expect(await ours.run('SELECT id FROM item')).toEqual([]);
  });

  test('commits what its function has written', async () => {
    const [ours, other] = await open(driver);
    expect(await retry(ours.tx, () => ours.run('INSERT INTO item VALUES (1, 9, 3)').then(() => 7))).toBe(7);
    expect(await other.run('SELECT id FROM item')).toHaveLength(1);
  });
});
