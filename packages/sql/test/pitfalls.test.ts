/** What goes wrong around fences and keys in real programs: each has a rule that holds it off, or a page that says so. */
import { beforeEach, describe, expect, test } from 'vitest';
import { handled, rejection } from '../../holdfast/test/support/rejection.ts';
import {
  checkFence,
  cleanUp,
  idempotent,
  isRetryable,
  migrate,
  NotInTransactionError,
  retry,
  StaleFenceError,
} from '../src/index.ts';
import { untilBlocked } from './support/blocked-sessions.ts';
import { deadlock, oldSnapshot } from './support/conflicts.ts';
import { useDatabases } from './support/databases.ts';
import { type Driver, type Isolation, mysql2Driver, pgDriver, type Session } from './support/sessions.ts';

const { databases, brands } = useDatabases('postgresql', 'mariadb');
const BOTH = [pgDriver, mysql2Driver].filter(({ brand }) => brands.includes(brand));
const OLDER = { resource: 'stock', fence: 10 };
const NEWER = { resource: 'stock', fence: 11 };

async function setUp(driver: Driver, count: number): Promise<Session[]> {
  const database = await databases.create(driver.brand);
  const sessions: Session[] = [];
  for (let index = 0; index < count; index += 1) sessions.push(await databases.open(driver, database));
  await sessions[0]?.run('CREATE TABLE item (id INT PRIMARY KEY, stock INT)');
  await sessions[0]?.run('INSERT INTO item VALUES (1, 10), (2, 10)');
  return sessions;
}

const stockOf = async (session: Session): Promise<number> =>
  Number((await session.run('SELECT stock FROM item WHERE id = 1'))[0]?.['stock']);
const setStock = (session: Session, stock: number): Promise<unknown> =>
  session.run('UPDATE item SET stock = ? WHERE id = 1', [stock]);

describe.each(BOTH)('two owners on $title', (driver) => {
  let old: Session;
  let next: Session;

  beforeEach(async () => {
    [old, next] = (await setUp(driver, 2)) as [Session, Session];
  });

  async function sellAsOldOwner(): Promise<void> {
    await old.begin();
    await checkFence(old.tx, OLDER);
    await setStock(old, (await stockOf(old)) - 1);
    await old.commit();
  }

  async function sellAsNewOwner(order: 'check, read' | 'read, check', isolation?: Isolation): Promise<void> {
    await next.begin(isolation);
    let left = 0;
    if (order === 'check, read') {
      await checkFence(next.tx, NEWER);
      await sellAsOldOwner().catch((error: unknown) => expect(error).toBeInstanceOf(StaleFenceError));
      left = await stockOf(next);
    } else {
      left = await stockOf(next);
      await sellAsOldOwner();
      await checkFence(next.tx, NEWER);
    }
    await setStock(next, left - 1);
    await next.commit();
  }

  test('a check that comes after a read lets two sales take one item', async () => {
    await sellAsNewOwner('read, check', 'READ COMMITTED');
    expect(await stockOf(next)).toBe(9);
  });

  test('a check that comes first makes the late owner wait, and refuses it', async () => {
    await next.begin();
    await checkFence(next.tx, NEWER);
    const late = handled(sellAsOldOwner().catch((error: unknown) => error));
    await setStock(next, (await stockOf(next)) - 1);
    await next.commit();
    expect(await late).toBeInstanceOf(StaleFenceError);
    await old.rollback();
    expect(await stockOf(next)).toBe(9);
  });

  test('a swallowed StaleFenceError commits nothing on PostgreSQL; on MariaDB the write commits', async () => {
    await next.begin();
    await checkFence(next.tx, NEWER);
    await next.commit();
    await old.begin();
    await rejection(checkFence(old.tx, OLDER));
    await setStock(old, 3).catch(() => {});
    await old.commit();
    expect(await stockOf(next)).toBe(driver.brand === 'postgresql' ? 10 : 3);
  });

  test('retry does not call it a success when its function swallows the StaleFenceError', async () => {
    if (driver.brand !== 'postgresql') return;
    await retry(next.tx, () => checkFence(next.tx, NEWER));
    const run = retry(old.tx, async () => {
      await checkFence(old.tx, OLDER).catch(() => {});
    });
    expect(await rejection(run)).toBeInstanceOf(NotInTransactionError);
  });

  test('nor when the driver still has the status from before the error', async () => {
    if (driver.brand !== 'postgresql') return;
    await retry(next.tx, () => checkFence(next.tx, NEWER));
    // pg tells of an error as soon as it has read it; the new status may come in a later packet.
    const late = new Proxy(old.tx as object, {
      get: (client, name) => {
        if (name === 'getTransactionStatus') return () => (isBegun ? 'T' : 'I');
        const value: unknown = Reflect.get(client, name);
        return typeof value === 'function' ? value.bind(client) : value;
      },
    }) as Session['tx'];
    let isBegun = false;
    const run = retry(late, async () => {
      isBegun = true;
      await checkFence(late, OLDER).catch(() => {});
    });
    expect(await rejection(run)).toBeInstanceOf(NotInTransactionError);
  });

  test('a retry inside an open transaction is refused: BEGIN would commit it', async () => {
    await old.begin();
    await setStock(old, 3);
    expect(await rejection(retry(old.tx, async () => {}))).toBeInstanceOf(NotInTransactionError);
    await old.rollback();
    expect(await stockOf(old)).toBe(10);
  });

  test('a postgres or mysql2 connection whose transaction is over is refused', async () => {
    await old.begin();
    await old.rollback();
    expect(await rejection(checkFence(old.tx, OLDER))).toBeInstanceOf(NotInTransactionError);
  });
});

describe.each(BOTH)('crowds on $title', (driver) => {
  test('first checks of different resources do not block each other into a deadlock', async () => {
    const sessions = await setUp(driver, 6);
    const work = async (session: Session, index: number): Promise<void> => {
      for (let round = 0; round < 15; round += 1) {
        await session.begin('REPEATABLE READ');
        await checkFence(session.tx, { resource: `r${round * 10 + index}`, fence: 1 });
        await session.commit();
      }
    };
    await Promise.all(sessions.map(work));
  });

  test('when the first caller rolls back before four duplicates, one of them runs, and all get its result', async () => {
    const [first, ...others] = (await setUp(driver, 6)) as [Session, ...Session[]];
    const watcher = others.pop() as Session;
    await first.begin();
    await idempotent(first.tx, 'k', async () => 'lost');
    let runs = 0;
    const duplicates = handled(
      Promise.all(
        others.map((session) =>
          retry(session.tx, () =>
            idempotent(session.tx, 'k', async () => {
              await session.run('UPDATE item SET stock = stock - 1 WHERE id = 2');
              runs += 1;
              return runs;
            }),
          ),
        ),
      ),
    );
    await untilBlocked(driver.brand, watcher, others.length);
    await first.rollback();
    const results = await duplicates;
    expect(new Set(results).size).toBe(1);
    expect(await watcher.run('SELECT stock FROM item WHERE id = 2')).toEqual([{ stock: 9 }]);
  });

  test('many processes may migrate at the same time, also into tables of other names', async () => {
    const database = await databases.create(driver.brand, true);
    const sessions = await Promise.all(Array.from({ length: 8 }, () => databases.open(driver, database)));
    const names = { fences: 'Fences of shop', keys: 'keys' };
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(sessions.map(({ tx }) => migrate(tx)));
      await Promise.all(sessions.map(({ tx }) => migrate(tx, names)));
    }
    const [session] = sessions as [Session];
    await session.begin();
    await checkFence(session.tx, NEWER, { names });
    expect(await idempotent(session.tx, 'k', async () => 1, { names })).toBe(1);
    await session.commit();
    await session.begin();
    expect(await rejection(checkFence(session.tx, OLDER, { names }))).toBeInstanceOf(StaleFenceError);
    await session.rollback();
    expect(await cleanUp(session.tx, { keysOlderThanMs: 1_000, names })).toBe(0);
  });

  test('cleanUp never deletes a fence', async () => {
    const [session] = (await setUp(driver, 1)) as [Session];
    await retry(session.tx, () => checkFence(session.tx, NEWER));
    await cleanUp(session.tx, { keysOlderThanMs: 1 });
    await session.begin();
    expect(await rejection(checkFence(session.tx, OLDER))).toBeInstanceOf(StaleFenceError);
  });
});

describe.runIf(brands.includes('mariadb'))('on MariaDB', () => {
  test.each([
    ['a plain transaction that has read', 'START TRANSACTION'],
    ['a consistent snapshot', 'START TRANSACTION WITH CONSISTENT SNAPSHOT'],
  ])(
    'at REPEATABLE READ the snapshot of %s survives the check, also when it reads again',
    async (_, begin) => {
      const [old, next] = (await setUp(mysql2Driver, 2)) as [Session, Session];
      await next.run(begin);
      await stockOf(next);
      await retry(old.tx, async () => {
        await checkFence(old.tx, OLDER);
        await setStock(old, (await stockOf(old)) - 1);
      });
      await checkFence(next.tx, NEWER);
      await setStock(next, (await stockOf(next)) - 1);
      await next.commit();
      expect(await stockOf(next)).toBe(9);
    },
  );

  test.each([
    ['deadlock', 1213, deadlock],
    ['snapshot that is too old', 1020, oldSnapshot],
  ])(
    'after a swallowed %s, %i, the transaction is over: checkFence, idempotent and retry say so',
    async (_, errno, meet) => {
      const [session, other] = (await setUp(mysql2Driver, 2)) as [Session, Session];
      if (meet === oldSnapshot) await session.run('SET SESSION innodb_snapshot_isolation = ON');
      const swallow = async (): Promise<void> => {
        expect(await meet(session, other)).toMatchObject({ errno });
      };
      await session.begin();
      await swallow();
      expect(await rejection(checkFence(session.tx, NEWER))).toBeInstanceOf(NotInTransactionError);

      await session.begin();
      const swallowing = idempotent(session.tx, 'k', swallow);
      expect(await rejection(swallowing)).toBeInstanceOf(NotInTransactionError);
      await session.rollback();
      expect(await session.run('SELECT * FROM holdfast_key')).toEqual([]);

      expect(await rejection(retry(session.tx, swallow))).toBeInstanceOf(NotInTransactionError);
      // Nothing of the three transactions was kept.
      expect(await stockOf(session)).toBe(10);
    },
  );

  test('retry sends ROLLBACK: after a lock wait that took too long, the other statements would commit', async () => {
    const [session, other] = (await setUp(mysql2Driver, 2)) as [Session, Session];
    await session.run('SET SESSION innodb_lock_wait_timeout = 1');
    await other.begin();
    await other.run('UPDATE item SET stock = 0 WHERE id = 2');
    let runs = 0;
    const error = await rejection(
      retry(
        session.tx,
        async () => {
          runs += 1;
          await session.run('UPDATE item SET stock = stock - 1 WHERE id = 1');
          await session.run('UPDATE item SET stock = stock - 1 WHERE id = 2');
        },
        { attempts: 2 },
      ),
    );
    expect(error).toMatchObject({ errno: 1205 });
    expect(isRetryable(error)).toBe(true);
    expect(runs).toBe(2);
    await other.rollback();
    // What a COMMIT of ours would keep, and what the START TRANSACTION of the second run would have kept.
    await session.commit();
    expect(await stockOf(session)).toBe(10);
  });

  test('with autocommit off a transaction is open without START TRANSACTION', async () => {
    const [session] = (await setUp(mysql2Driver, 1)) as [Session];
    await session.run('SET autocommit = 0');
    expect(await rejection(retry(session.tx, () => 1))).toBeInstanceOf(NotInTransactionError);
    expect(await idempotent(session.tx, 'k', async () => 1)).toBe(1);
    await checkFence(session.tx, NEWER);
    await session.rollback();
    expect(await session.run('SELECT * FROM holdfast_key')).toEqual([]);
  });
});
