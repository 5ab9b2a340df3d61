/**
 * The rules of `holdfast-sql/sync`. They run in a Node that has SQLite, in a process of their own: the oldest supported Node
 * has none. Each rule gets a database file of its own.
 */
import assert from 'node:assert/strict';
import * as sql from '../../src/sync.ts';

export type Database = sql.SyncDatabase & { close(): void };
export type Open = () => Database;

const OLDER = { resource: 'stock', fence: 10 };
const NEWER = { resource: 'stock', fence: 11 };
const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected;

function begin(database: Database, how = 'IMMEDIATE'): void {
  database.exec(`BEGIN ${how}`);
}

/** What a function throws. */
function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('expected an error, got none');
}

function rowsOf(database: Database, text: string): unknown[] {
  return database
    .prepare(text)
    .all()
    .map((row) => Object.values(row as object));
}

function withItem(open: Open): [Database, Database] {
  const databases: [Database, Database] = [open(), open()];
  sql.migrate(databases[0]);
  databases[0].exec(
    'CREATE TABLE item (id INTEGER PRIMARY KEY, stock INTEGER, fence INTEGER NOT NULL DEFAULT 0)',
  );
  databases[0].exec('INSERT INTO item (id, stock) VALUES (1, 10)');
  return databases;
}

interface Conflict {
  /** What the one that comes first does in its transaction. */
  readonly first: (db: Database) => unknown;
  /** What a transaction does that has read before. */
  readonly late: (db: Database) => unknown;
  /** What `late` comes to in a transaction that is run again. */
  readonly again: (db: Database) => void;
}

const LATE_OWNER: Conflict = {
  first: (db) => sql.checkFence(db, NEWER),
  late: (db) => sql.checkFence(db, OLDER),
  again: (db) => assert.throws(() => sql.checkFence(db, OLDER), code('ESTALEFENCE')),
};
const DUPLICATE: Conflict = {
  first: (db) => sql.idempotent(db, 'k', () => 'first'),
  late: (db) => sql.idempotent(db, 'k', () => assert.fail('the body ran twice')),
  again: (db) => assert.equal(DUPLICATE.late(db), 'first'),
};

/** With a rollback journal the reader blocks the COMMIT of the first instead. */
function runAgain(open: Open, journal: 'wal' | 'delete', { first, late, again }: Conflict): void {
  const db = open();
  db.prepare(`PRAGMA journal_mode = ${journal}`).all();
  sql.migrate(db);
  const other = open();
  begin(db, 'DEFERRED');
  rowsOf(db, 'SELECT * FROM holdfast_fence');
  const come = (): unknown => sql.retry(other, () => first(other), { attempts: 1 });
  if (journal === 'wal') come();
  const error = thrownBy(journal === 'wal' ? () => late(db) : come);
  assert.ok(sql.isRetryable(error), String(error));
  db.exec('ROLLBACK');
  come();
  begin(db);
  again(db);
  db.exec('ROLLBACK');
}

export const SQLITE_RULES: Readonly<Record<string, (open: Open) => void>> = {
  'a first, an equal and a newer fence pass, an older one is refused'(open) {
    const [db] = withItem(open);
    for (const fence of [9, 10, 10, 1_700_000_000_000_000]) {
      begin(db);
      sql.checkFence(db, { resource: 'stock', fence });
      db.exec('COMMIT');
    }
    begin(db);
    const error = thrownBy(() => sql.checkFence(db, OLDER));
    assert.ok(error instanceof sql.StaleFenceError);
    assert.deepEqual([error.fence, error.seen, error.aheadMs], [10, 1_700_000_000_000_000, 0]);
    assert.equal(sql.resetFence(db, 'stock'), true);
    sql.checkFences(db, [OLDER, { resource: 'a', fence: 1 }]);
    db.exec('COMMIT');
  },
  'without a transaction every verb that needs one is refused'(open) {
    const [db] = withItem(open);
    const update = { table: 'item', where: { id: 1 }, set: { stock: 1 }, fence: 1 };
    for (const call of [
      () => sql.checkFence(db, OLDER),
      () => sql.idempotent(db, 'k', () => 1),
      () => sql.fencedUpdate(db, update),
    ])
      assert.throws(call, code('ENOTRANSACTION'));
    assert.deepEqual(rowsOf(db, 'SELECT * FROM holdfast_key'), []);
    begin(db);
    sql.fencedUpdate(db, update);
    db.exec('COMMIT');
  },
  'fencedUpdate refuses an older fence, and a row that is missing'(open) {
    const [db] = withItem(open);
    const update = (id: number, fence: number): void =>
      sql.retry(db, () => sql.fencedUpdate(db, { table: 'item', where: { id }, set: { stock: 5 }, fence }));
    update(1, 11);
    update(1, 11);
    assert.throws(() => update(1, 10), code('ESTALEFENCE'));
    assert.throws(() => update(2, 12), /expected a row of item with id=2, got 0/);
  },
  'a duplicate replays the result'(open) {
    const [db, other] = withItem(open);
    const results = [undefined, { a: [1] }, 'ä\0'];
    for (const [index, value] of results.entries()) {
      for (const each of [db, other])
        assert.deepEqual(
          sql.retry(each, () =>
            sql.idempotent<unknown>(each, `k${index}`, () => (each === db ? value : 'again')),
          ),
          value,
        );
    }
    assert.throws(
      () => sql.retry(db, () => sql.idempotent(db, 'p', () => sql.idempotent(db, 'p', () => 1))),
      /has no result yet/,
    );
    sql.retry(db, () => sql.idempotent(db, 'p', () => 1, { fingerprint: 'a' }));
    assert.throws(
      () => sql.retry(db, () => sql.idempotent(db, 'p', () => 1, { fingerprint: 'b' })),
      code('EKEYMISMATCH'),
    );
  },
  'a body that throws, or returns a promise, leaves nothing although COMMIT follows'(open) {
    const [db] = withItem(open);
    for (const end of [() => Promise.resolve(), () => assert.fail('declined')]) {
      begin(db);
      thrownBy(() =>
        sql.idempotent<unknown>(db, 'k', () => {
          db.exec('UPDATE item SET stock = 0');
          return end();
        }),
      );
      db.exec('COMMIT');
    }
    assert.deepEqual(rowsOf(db, 'SELECT stock FROM item'), [[10]]);
    assert.deepEqual(rowsOf(db, 'SELECT * FROM holdfast_key'), []);
  },
  'a DEFERRED transaction that has read before a newer owner wrote is told to run again, in WAL mode'(open) {
    runAgain(open, 'wal', LATE_OWNER);
  },
  'a DEFERRED transaction that has read before a newer owner wrote is told to run again, with a rollback journal'(
    open,
  ) {
    runAgain(open, 'delete', LATE_OWNER);
  },
  'a duplicate in a DEFERRED transaction that has read is told to run again, and then replays, in WAL mode'(
    open,
  ) {
    runAgain(open, 'wal', DUPLICATE);
  },
  'a duplicate in a DEFERRED transaction that has read is told to run again, and then replays, with a rollback journal'(
    open,
  ) {
    runAgain(open, 'delete', DUPLICATE);
  },
  'an IMMEDIATE transaction that finds another one open is told to run again'(open) {
    const [db, other] = withItem(open);
    begin(db);
    sql.checkFence(db, NEWER);
    assert.ok(sql.isRetryable(thrownBy(() => sql.retry(other, () => 1, { attempts: 2 }))));
    db.exec('COMMIT');
    assert.throws(() => sql.retry(other, () => sql.checkFence(other, OLDER)), code('ESTALEFENCE'));
  },
  'retry rolls back after an error, and does not begin inside a transaction'(open) {
    const [db] = withItem(open);
    const spoil = (): never => {
      db.exec('UPDATE item SET stock = 0');
      throw new Error('no');
    };
    assert.throws(() => sql.retry(db, spoil), /no/);
    assert.deepEqual(rowsOf(db, 'SELECT stock FROM item'), [[10]]);
    begin(db);
    assert.throws(() => sql.retry(db, () => 1), code('ENOTRANSACTION'));
    db.exec('ROLLBACK');
    assert.throws(() => sql.retry(db, () => db.exec('ROLLBACK')), code('ENOTRANSACTION'));
    assert.throws(() => sql.retry(db, async () => 1), /to be synchronous, got a promise/);
  },
  'rolling back to a savepoint frees the fence'(open) {
    const [db] = withItem(open);
    begin(db);
    db.exec('SAVEPOINT before_check');
    sql.checkFence(db, NEWER);
    db.exec('ROLLBACK TO SAVEPOINT before_check');
    sql.checkFence(db, OLDER);
    db.exec('COMMIT');
  },
  'keys are compared by bytes'(open) {
    const [db] = withItem(open);
    const keys = ['a', 'A', 'á', 'a ', 'a\u0301', ' a'];
    for (const key of keys)
      assert.equal(
        sql.retry(db, () => sql.idempotent(db, key, () => key)),
        key,
      );
    assert.equal(rowsOf(db, 'SELECT key FROM holdfast_key').length, keys.length);
  },
  'resources are compared by bytes'(open) {
    const [db] = withItem(open);
    const resources = ['a', 'A', 'á', 'a ', 'a\u0301', ' a', 'x'.repeat(1_023), 'x'.repeat(1_024)];
    // Each fence is older than the one before: two that share a row would be refused.
    for (const [index, resource] of resources.entries())
      sql.retry(db, () => sql.checkFence(db, { resource, fence: 100 - index }));
    assert.equal(rowsOf(db, 'SELECT * FROM holdfast_fence').length, resources.length);
    for (const [index, resource] of resources.entries()) {
      const older = (): void => sql.checkFence(db, { resource, fence: 99 - index });
      assert.throws(() => sql.retry(db, older), code('ESTALEFENCE'));
    }
  },
  'cleanUp deletes old keys in batches, and no fence'(open) {
    const [db] = withItem(open);
    for (const key of ['a', 'b', 'c']) sql.retry(db, () => sql.idempotent(db, key, () => 1));
    sql.retry(db, () => sql.checkFence(db, NEWER));
    db.exec("UPDATE holdfast_key SET created = created - 7200000 WHERE key <> 'c'");
    assert.equal(sql.cleanUp(db, { keysOlderThanMs: 3_600_000, batch: 1 }), 2);
    assert.equal(rowsOf(db, 'SELECT key FROM holdfast_key').length, 1);
    assert.equal(rowsOf(db, 'SELECT * FROM holdfast_fence').length, 1);
  },
  'tables may have other names'(open) {
    const db = open();
    const names = { fences: 'my fences', keys: 'main.my_keys' };
    sql.migrate(db, names);
    sql.migrate(db, names);
    begin(db);
    sql.checkFence(db, NEWER, { names });
    assert.equal(
      sql.idempotent(db, 'k', () => 1, { names }),
      1,
    );
    assert.throws(() => sql.checkFence(db, OLDER, { names }), code('ESTALEFENCE'));
    db.exec('ROLLBACK');
    assert.equal(sql.cleanUp(db, { keysOlderThanMs: 1, names }), 0);
  },
};
