/** What needs no database: bad input, pools, error codes, the files with plain SQL. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import pg from 'pg';
import postgres from 'postgres';
import { afterAll, describe, expect, test } from 'vitest';
import { rejection } from '../../holdfast/test/support/rejection.ts';
import { tablesOf } from '../src/dialects/names.ts';
import { schemaOf } from '../src/dialects/schema.ts';
import {
  checkFence,
  checkFences,
  cleanUp,
  fencedUpdate,
  idempotent,
  isRetryable,
  KeyMismatchError,
  NotInTransactionError,
  resetFence,
  retry,
  type SqlSeam,
  StaleFenceError,
} from '../src/index.ts';
import * as sync from '../src/sync.ts';

const FENCE = { resource: 'stock', fence: 1 };
const sent: string[] = [];
const seam: SqlSeam = {
  dialect: 'postgresql',
  inTransaction: () => true,
  async query(sql) {
    sent.push(sql);
    return { rows: [] };
  },
};

describe('a pool', () => {
  const pgPool = new pg.Pool();
  const mysqlPool = mysql.createPool({ host: '127.0.0.1' });
  const root = postgres({ max: 1 });

  afterAll(async () => {
    await Promise.all([pgPool.end(), mysqlPool.end(), root.end()]);
  });

  test.each([
    ['pg', () => pgPool, 'a pool of pg: use a client from `pool.connect()`'],
    ['mysql2', () => mysqlPool, 'a pool of mysql2: use a connection from `pool.getConnection()`'],
    ['mysql2, without promises', () => mysqlPool.pool, 'a pool of mysql2'],
    ['postgres', () => root, 'the root `sql` of postgres: use the one that `sql.begin` passes'],
  ] as const)('of %s is refused, before anything is sent', async (_, pool, message) => {
    // What the types refuse as well.
    const tx = pool() as never;
    for (const call of [
      () => checkFence(tx, FENCE),
      () => checkFences(tx, [FENCE]),
      () => fencedUpdate(tx, { table: 't', where: { id: 1 }, set: { a: 1 }, fence: 1 }),
      () => idempotent(tx, 'k', () => 1),
      () => resetFence(tx, 'stock'),
      () => retry(tx, () => 1),
    ]) {
      const error = await rejection(call());
      expect(error).toBeInstanceOf(TypeError);
      expect(String(error)).toContain(message);
    }
  });
});

test.each([
  [7, 'got 7'],
  [null, 'got null'],
  [{}, 'got a value of type object'],
  [{ connect: () => {}, query: () => {} }, 'got a value of type object'],
  [{ threadId: 1, execute: () => {}, query: () => {} }, 'got a value of type object'],
  [{ prepare: () => {}, exec: () => {} }, 'got a synchronous SQLite database: import from holdfast-sql/sync'],
  [{ dialect: 'oracle', query: () => {} }, 'expected the dialect postgresql, mysql or sqlite, got "oracle"'],
  [{ dialect: 'sqlite', query: () => {} }, 'expected a seam for sqlite to have inTransaction'],
])('%j is no transaction', async (given, message) => {
  expect(String(await rejection(checkFence(given as never, FENCE)))).toContain(message);
});

test.each([
  [
    'a fence that is none',
    () => checkFence(seam, { resource: 'r', fence: 0.5 }),
    'an integer of at least 1, got 0.5',
  ],
  ['a lease of a mutex', () => checkFence(seam, { name: 'r' } as never), 'a mutex has no fence'],
  ['no lease', () => checkFence(seam, null as never), 'expected a lease, or { resource, fence }, got null'],
  ['an empty resource', () => checkFence(seam, { resource: '', fence: 1 }), 'got 0 bytes'],
  ['a NUL', () => checkFence(seam, { resource: 'a\0b', fence: 1 }), 'without NUL, got "a\\u0000b"'],
  ['half a character', () => idempotent(seam, '\ud800', () => 1), 'of well-formed Unicode'],
  [
    'a long key',
    () => idempotent(seam, 'ä'.repeat(513), () => 1),
    'a string of 1 to 1024 bytes, got 1026 bytes',
  ],
  [
    'a long fingerprint',
    () => idempotent(seam, 'k', () => 1, { fingerprint: 'x'.repeat(129) }),
    '1 to 128 bytes',
  ],
  [
    'a body that is none',
    () => idempotent(seam, 'k', 7 as never),
    'expected a body that is a function, got 7',
  ],
  [
    'a resource twice',
    () => checkFences(seam, [FENCE, { ...FENCE, fence: 2 }]),
    'expected each resource once',
  ],
  ['no list', () => checkFences(seam, 'a' as never), 'expected an array of fences, got "a"'],
  [
    'an injection',
    () => checkFence(seam, FENCE, { names: { fences: 'a"; DROP' } }),
    'expected the table of fences to be a name',
  ],
  [
    'a null condition',
    () => fencedUpdate(seam, { table: 't', where: { id: null }, set: { a: 1 }, fence: 1 }),
    'in where, got null',
  ],
  [
    'nothing to set',
    () => fencedUpdate(seam, { table: 't', where: { id: 1 }, set: {}, fence: 1 }),
    'an empty one',
  ],
  [
    'the fence itself',
    () => fencedUpdate(seam, { table: 't', where: { id: 1 }, set: { fence: 1 }, fence: 1 }),
    'without the column of the fence',
  ],
  [
    'no age',
    () => cleanUp(seam, {} as never),
    'expected keysOlderThanMs to be an integer of at least 1, got undefined',
  ],
  [
    'no attempts',
    () => retry(() => 1, { attempts: 0 }),
    'expected attempts to be an integer of at least 1, got 0',
  ],
  ['no function', () => retry(7 as never), 'expected a function that opens a transaction'],
  [
    'an option of idempotent that there is not',
    () => idempotent(seam, 'k', () => 1, { fingerPrint: 'x' } as never),
    'expected the options among names, fingerprint, codec, maxBytes, got "fingerPrint"',
  ],
  [
    'a table that has no such name',
    () => checkFence(seam, FENCE, { names: { fence: 'f' } } as never),
    'expected names among fences, keys, got "fence"',
  ],
  [
    'an isolation by the name that ORMs have for it',
    () => retry(seam, () => 1, { isolationLevel: 'serializable' } as never),
    'expected the options among attempts, isolation, got "isolationLevel"',
  ],
  [
    'an isolation where the function opens the transaction',
    () => retry(() => 1, { isolation: 'serializable' } as never),
    'expected the options among attempts, got "isolation"',
  ],
  [
    'a level that is none, on SQLite',
    () =>
      retry({ ...seam, dialect: 'sqlite', inTransaction: () => false }, () => 1, {
        isolation: 'chaos' as never,
      }),
    'got "chaos"',
  ],
  [
    'an update with a column too many',
    () => fencedUpdate(seam, { table: 't', where: { id: 1 }, set: { a: 1 }, fence: 1, column: 'f' } as never),
    'expected what fencedUpdate is given among table, where, set, fence, fenceColumn, got "column"',
  ],
  ['no update', () => fencedUpdate(seam, null as never), 'given to be an object, got null'],
  ['a level that is none', () => retry(seam, () => 1, { isolation: 'chaos' as never }), 'got "chaos"'],
])('%s is refused, before anything is sent', async (_, call, message) => {
  sent.length = 0;
  expect(String(await rejection(call()))).toContain(message);
  expect(sent).toEqual([]);
});

test.each([
  [{ code: '40001' }, true],
  [{ code: '40P01' }, true],
  [{ errno: 1213 }, true],
  [{ errno: 1020 }, true],
  [{ errno: 1205 }, true],
  [{ code: 'SQLITE_BUSY' }, true],
  [{ code: 'SQLITE_BUSY_SNAPSHOT' }, true],
  [{ code: 'ERR_SQLITE_ERROR', errcode: 5 }, true],
  [{ code: 'ERR_SQLITE_ERROR', errcode: 517 }, true],
  [{ cause: { driverError: { code: '40001' } } }, true],
  [{ code: 'P2010', meta: { driverAdapterError: { cause: { originalCode: '40001' } } } }, true],
  [{ code: 'P2034' }, true],
  [{ code: '23505' }, false],
  [{ code: 'ECONNRESET' }, false],
  [{ errcode: 5 }, false],
  [{ code: 'ERR_SQLITE_ERROR', errcode: 19 }, false],
  [new StaleFenceError({ resource: 'r', fence: 1, seen: 2 }), false],
  [null, false],
  ['40001', false],
])('%j is retryable: %s', (error, expected) => {
  expect(isRetryable(error)).toBe(expected);
});

test('errors of both entries are instances of each other, and of no other class', () => {
  const stale = new sync.StaleFenceError({ resource: 'r', fence: 1, seen: 2 });
  expect(stale instanceof StaleFenceError).toBe(true);
  expect(stale instanceof KeyMismatchError).toBe(false);
  expect(new NotInTransactionError('x') instanceof sync.NotInTransactionError).toBe(true);
  expect(new Error('x') instanceof StaleFenceError).toBe(false);
});

test('a message has no character that steers a terminal, forges a line or hides', async () => {
  const steering = [
    '\u001b[2J',
    '\u007f',
    '\u009b2J',
    '\u202e',
    '\u2066',
    '\u200b',
    '\u2028',
    '\u2029',
    '\u{e0041}',
  ];
  const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
  for (const text of steering) {
    expect(text).toMatch(unprintable);
    const key = `a${text}b`;
    for (const error of [
      new KeyMismatchError(key),
      new StaleFenceError({ resource: key, fence: 1, seen: 2 }),
      await rejection(checkFence({ dialect: key, query: () => {} } as never, FENCE)),
      await rejection(fencedUpdate(seam, { table: 't', where: { id: key }, set: { a: 1 }, fence: 1 })),
    ]) {
      const { message } = error as Error;
      expect(message).not.toMatch(unprintable);
      const [quoted = ''] = message.match(/"a.*b"/) ?? [];
      expect(JSON.parse(quoted)).toBe(key);
    }
  }
  expect(String(new KeyMismatchError('Åbo 1"'))).toContain('the key "Åbo 1\\"" was used');
});

test('the error of a fence in the future says how far ahead it is', () => {
  const error = new StaleFenceError({ resource: 'r', fence: 1, seen: 5_000_000 }, 2_000);
  expect(error.aheadMs).toBe(3_000);
  expect(new StaleFenceError({ resource: 'r', fence: 1, seen: 5_000_000 }, 9_000).aheadMs).toBe(0);
});

test.each(['postgresql', 'mysql', 'sqlite'] as const)(
  'sql/%s.sql has the statements of migrate',
  (dialect) => {
    const text = readFileSync(join(import.meta.dirname, `../sql/${dialect}.sql`), 'utf8');
    expect(text).toBe(
      schemaOf(dialect, tablesOf(dialect))
        .map((sql) => `${sql};\n`)
        .join('\n'),
    );
  },
);

test('the synchronous entry refuses what is asynchronous', () => {
  expect(() => sync.checkFence(7 as never, FENCE)).toThrow(
    'expected a database of better-sqlite3 or node:sqlite, got 7',
  );
  expect(() => sync.checkFence({ query: () => {} } as never, FENCE)).toThrow(
    'for servers import from holdfast-sql',
  );
  expect(() => sync.retry(async () => 1)).toThrow('expected the function to be synchronous, got a promise');
});
