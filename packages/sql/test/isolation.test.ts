/** Every isolation level: a late owner is refused, a duplicate replays, or the error is one that `retry` runs again. */
import { beforeEach, describe, expect, test } from 'vitest';
import { handled, rejection } from '../../holdfast/test/support/rejection.ts';
import { checkFence, idempotent, isRetryable, retry, StaleFenceError } from '../src/index.ts';
import { untilBlocked } from './support/blocked-sessions.ts';
import { useDatabases } from './support/databases.ts';
import { type Isolation, mysql2Driver, pgDriver, type Session } from './support/sessions.ts';

const { databases, brands } = useDatabases('postgresql', 'mariadb');
const OLDER = { resource: 'stock', fence: 10 };
const NEWER = { resource: 'stock', fence: 11 };

/** How a conflict ends: with `StaleFenceError`, with the result that is stored, or with this code of the database. */
type Answer = 'stale' | 'replayed' | '40001' | 1020;

interface Row {
  readonly title: string;
  readonly driver: typeof pgDriver;
  readonly level: Isolation;
  /** Said to each session first. */
  readonly setting?: string;
  /** A late owner that waits for the newer one. */
  readonly waiting: Answer;
  /** A late owner with a snapshot from before the newer fence. */
  readonly snapshot: Answer;
  /** A duplicate with a snapshot from before the first caller. */
  readonly duplicate: Answer;
}

/** The documented default of MariaDB from 11.6.2 on. Said in every row: the server may have either default. */
const snapshotIsolation = (isOn: boolean): string =>
  `SET SESSION innodb_snapshot_isolation = ${isOn ? 'ON' : 'OFF'}`;
const REFUSES = { waiting: 'stale', snapshot: 'stale', duplicate: 'replayed' } as const;
const FAILS = { waiting: '40001', snapshot: '40001', duplicate: '40001' } as const;
/** At REPEATABLE READ the check itself takes the snapshot, after its wait. */
const OLD_SNAPSHOT = { snapshot: 1020, duplicate: 1020 } as const;
const MARIADB = { title: 'MariaDB', driver: mysql2Driver, setting: snapshotIsolation(false) };
const WITH_SNAPSHOTS = {
  title: 'MariaDB with snapshot isolation,',
  driver: mysql2Driver,
  setting: snapshotIsolation(true),
};
const ROWS: readonly Row[] = [
  { title: 'PostgreSQL', driver: pgDriver, level: 'READ COMMITTED', ...REFUSES },
  { title: 'PostgreSQL', driver: pgDriver, level: 'REPEATABLE READ', ...FAILS },
  { title: 'PostgreSQL', driver: pgDriver, level: 'SERIALIZABLE', ...FAILS },
  { ...MARIADB, level: 'READ COMMITTED', ...REFUSES },
  { ...MARIADB, level: 'REPEATABLE READ', ...REFUSES },
  { ...MARIADB, level: 'SERIALIZABLE', ...REFUSES },
  { ...WITH_SNAPSHOTS, level: 'REPEATABLE READ', waiting: 'stale', ...OLD_SNAPSHOT },
  { ...WITH_SNAPSHOTS, level: 'SERIALIZABLE', waiting: 1020, ...OLD_SNAPSHOT },
];

function answerOf(ended: unknown): unknown {
  if (ended instanceof StaleFenceError) return 'stale';
  if (!(ended instanceof Error)) return 'replayed';
  const { code, errno } = ended as { code?: string; errno?: number };
  // The code of the database is one that `retry` knows.
  expect(isRetryable(ended), String(ended)).toBe(true);
  return errno ?? code;
}

describe.each(ROWS.filter(({ driver }) => brands.includes(driver.brand)))('$title $level', (row) => {
  const { driver, level } = row;
  let first: Session;
  let second: Session;
  let watcher: Session;

  beforeEach(async () => {
    const database = await databases.create(driver.brand);
    first = await databases.open(driver, database);
    second = await databases.open(driver, database);
    watcher = await databases.open(driver, database);
    if (row.setting !== undefined) for (const each of [first, second]) await each.run(row.setting);
    await watcher.run('CREATE TABLE item (id INT PRIMARY KEY, stock INT)');
    await watcher.run('INSERT INTO item VALUES (1, 10)');
  });

  test('a late owner that finds the newer fence committed is refused', async () => {
    await first.begin(level);
    await checkFence(first.tx, NEWER);
    await first.commit();
    await second.begin(level);
    expect(await rejection(checkFence(second.tx, OLDER))).toBeInstanceOf(StaleFenceError);
    await second.rollback();
  });

  test('a late owner that waits for the newer one is refused, or told to try again', async () => {
    await first.begin(level);
    await checkFence(first.tx, NEWER);
    await second.begin(level);
    const late = handled(rejection(checkFence(second.tx, OLDER)));
    await untilBlocked(driver.brand, watcher);
    await first.commit();
    expect(answerOf(await late)).toBe(row.waiting);
    await second.rollback();
    // Run again, it is refused.
    await second.begin(level);
    expect(await rejection(checkFence(second.tx, OLDER))).toBeInstanceOf(StaleFenceError);
    await second.rollback();
  });

  test('a late owner whose snapshot is older than the newer fence cannot commit', async () => {
    await second.begin(level);
    await second.run('SELECT stock FROM item');
    await first.begin(level);
    await checkFence(first.tx, NEWER);
    await first.commit();
    expect(answerOf(await rejection(checkFence(second.tx, OLDER)))).toBe(row.snapshot);
    await second.rollback();
  });

  test('a newer owner waits for the older one, and reads what that has written', async () => {
    await first.begin(level);
    await checkFence(first.tx, OLDER);
    await first.run('UPDATE item SET stock = stock - 1');
    const sale = handled(
      retry(
        second.tx,
        async () => {
          await checkFence(second.tx, NEWER);
          const [item] = await second.run('SELECT stock FROM item');
          await second.run('UPDATE item SET stock = ?', [Number(item?.['stock']) - 1]);
        },
        { isolation: isolationOf(level) },
      ),
    );
    await untilBlocked(driver.brand, watcher);
    await first.commit();
    await sale;
    expect(await watcher.run('SELECT stock FROM item')).toEqual([{ stock: 8 }]);
  });

  test('a duplicate that waits for the first caller replays its result, or is told to try again', async () => {
    // A snapshot from before the first caller: a plain read in it would find no row.
    await second.begin(level);
    await second.run('SELECT stock FROM item');
    await first.begin(level);
    await idempotent(first.tx, 'charge:1', async () => ({ paid: 7 }));
    const duplicate = handled(
      idempotent(second.tx, 'charge:1', () => {
        throw new Error('the body ran twice');
      }).catch((error: unknown) => error),
    );
    await untilBlocked(driver.brand, watcher);
    await first.commit();
    const answer = await duplicate;
    expect(answerOf(answer)).toBe(row.duplicate);
    if (row.duplicate === 'replayed') expect(answer).toEqual({ paid: 7 });
    await second.rollback();
    await second.begin(level);
    expect(await idempotent(second.tx, 'charge:1', () => ({ paid: 0 }))).toEqual({ paid: 7 });
    await second.commit();
  });

  test('a duplicate takes over when the first caller rolls back', async () => {
    await first.begin(level);
    await idempotent(first.tx, 'charge:1', async () => 'lost');
    const duplicate = handled(
      retry(second.tx, () => idempotent(second.tx, 'charge:1', async () => 'ours'), {
        isolation: isolationOf(level),
      }),
    );
    await untilBlocked(driver.brand, watcher);
    await first.rollback();
    expect(await duplicate).toBe('ours');
  });
});

function isolationOf(level: Isolation): 'read committed' | 'repeatable read' | 'serializable' {
  const levels = {
    'READ COMMITTED': 'read committed',
    'REPEATABLE READ': 'repeatable read',
    SERIALIZABLE: 'serializable',
  } as const;
  return levels[level];
}
