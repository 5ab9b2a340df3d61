/** idempotent, cleanUp and retry on every driver and setting. */
import { beforeEach, describe, expect, test } from 'vitest';
import { rejection } from '../../holdfast/test/support/rejection.ts';
import { cleanUp, idempotent, KeyMismatchError, NotInTransactionError, retry } from '../src/index.ts';
import { useDatabases } from './support/databases.ts';
import { DRIVERS, type Session } from './support/sessions.ts';

const { databases, brands } = useDatabases('postgresql', 'mariadb');

describe.each(DRIVERS.filter(({ brand }) => brands.includes(brand)))('on $title', (driver) => {
  let session: Session;

  beforeEach(async () => {
    session = await databases.open(driver, await databases.create(driver.brand));
    await session.run('CREATE TABLE ledger (id INT)');
  });

  const write = (id = 1): Promise<unknown> => session.run('INSERT INTO ledger VALUES (?)', [id]);
  const written = async (): Promise<number> => (await session.run('SELECT id FROM ledger')).length;

  async function inTransaction<T>(work: () => Promise<T>): Promise<T> {
    await session.begin();
    const value = await work();
    await session.commit();
    return value;
  }

  test.each([
    [
      { paid: 7, at: new Date(0) },
      { paid: 7, at: '1970-01-01T00:00:00.000Z' },
    ],
    [undefined, undefined],
    [null, null],
    ['\u0000 \u{1f512} ä', '\u0000 \u{1f512} ä'],
  ])('the first caller and the second get the same result, %j', async (value, result) => {
    const body = async (): Promise<unknown> => {
      await write();
      return value;
    };
    expect(await inTransaction(() => idempotent(session.tx, 'k', body))).toEqual(result);
    expect(await inTransaction(() => idempotent(session.tx, 'k', body))).toEqual(result);
    expect(await written()).toBe(1);
  });

  test('a codec may store bytes', async () => {
    const codec = {
      encode: (value: bigint) => Uint8Array.of(0, 255, Number(value)),
      decode: (bytes: Uint8Array) => BigInt(bytes[2] ?? 0),
    };
    const call = (): Promise<bigint> => idempotent(session.tx, 'k', async () => 9n, { codec });
    expect(await inTransaction(call)).toBe(9n);
    expect(await inTransaction(call)).toBe(9n);
  });

  test('a second call in the same transaction replays', async () => {
    await inTransaction(async () => {
      expect(await idempotent(session.tx, 'k', async () => 1)).toBe(1);
      expect(await idempotent(session.tx, 'k', async () => 2)).toBe(1);
    });
  });

  test('the same key with another fingerprint is refused; without one nothing is compared', async () => {
    const call = (fingerprint?: string): Promise<number> =>
      inTransaction(() => idempotent(session.tx, 'k', async () => 1, { fingerprint }));
    await call('one');
    expect(await call('one')).toBe(1);
    expect(await call()).toBe(1);
    const error = await rejection(call('two'));
    expect(error).toBeInstanceOf(KeyMismatchError);
    expect(error).toMatchObject({ code: 'EKEYMISMATCH', key: 'k' });
    await session.rollback();
  });

  test('a body that throws leaves nothing, although the error is swallowed and COMMIT is sent', async () => {
    await session.begin();
    const failed = idempotent(session.tx, 'k', async () => {
      await write();
      throw new Error('declined');
    });
    expect(String(await rejection(failed))).toBe('Error: declined');
    await session.commit();
    expect(await written()).toBe(0);
    expect(await inTransaction(() => idempotent(session.tx, 'k', async () => 'again'))).toBe('again');
  });

  test('a result that is too large, or that cannot be encoded, undoes the body', async () => {
    for (const [value, message] of [
      ['x'.repeat(11), 'expected a result of at most 10 bytes (maxBytes), got 13'],
      [() => {}, 'expected a result that JSON can hold, got a value of type function'],
    ] as const) {
      await session.begin();
      const body = async (): Promise<unknown> => {
        await write();
        return value;
      };
      expect(String(await rejection(idempotent(session.tx, 'k', body, { maxBytes: 10 })))).toContain(message);
      await session.commit();
    }
    expect(await written()).toBe(0);
  });

  test('an inner call with another key is undone with the outer one; one with the same key is refused', async () => {
    await session.begin();
    const outer = idempotent(session.tx, 'outer', async () => {
      await idempotent(session.tx, 'inner', () => write());
      await idempotent(session.tx, 'outer', () => write());
    });
    expect(String(await rejection(outer))).toContain('"outer" has no result yet');
    await session.commit();
    expect(await written()).toBe(0);
    expect(await session.run('SELECT * FROM holdfast_key')).toEqual([]);
  });

  test('without a transaction nothing is written', async () => {
    const alone = rejection(idempotent(session.tx, 'k', () => write()));
    expect(await alone).toBeInstanceOf(NotInTransactionError);
    expect(await session.run('SELECT * FROM holdfast_key')).toEqual([]);
    expect(await written()).toBe(0);
  });

  test('keys are compared by bytes', async () => {
    const keys = ['a', 'A', 'á', 'a ', 'a\u0301', ' a', 'ａ'];
    for (const key of keys)
      expect(await inTransaction(() => idempotent(session.tx, key, async () => key))).toBe(key);
    for (const key of keys)
      expect(await inTransaction(() => idempotent(session.tx, key, async () => ''))).toBe(key);
    const long = ['x'.repeat(1023), 'x'.repeat(1024)];
    for (const key of long) await inTransaction(() => idempotent(session.tx, key, async () => key));
    expect(await session.run('SELECT * FROM holdfast_key')).toHaveLength(9);
  });

  test('cleanUp deletes old keys in batches and keeps young ones', async () => {
    for (const key of ['a', 'b', 'c', 'd', 'e'])
      await inTransaction(() => idempotent(session.tx, key, async () => 1));
    const age =
      driver.brand === 'mariadb' ? 'UTC_TIMESTAMP(3) - INTERVAL 2 HOUR' : "now() - interval '2 hours'";
    await session.run(`UPDATE holdfast_key SET created = ${age} WHERE result IS NOT NULL AND hits = 0`);
    await inTransaction(() => idempotent(session.tx, 'young', async () => 1));
    expect(await cleanUp(session.tx, { keysOlderThanMs: 3 * 3_600_000 })).toBe(0);
    expect(await cleanUp(session.tx, { keysOlderThanMs: 3_600_000, batch: 2 })).toBe(5);
    expect(await session.run('SELECT * FROM holdfast_key')).toHaveLength(1);
  });

  test('retry commits, and rolls back after an error', async () => {
    expect(await retry(session.tx, async () => [await write(), 'done'][1])).toBe('done');
    const failed = retry(session.tx, async () => {
      await write();
      throw new Error('no');
    });
    expect(String(await rejection(failed))).toBe('Error: no');
    expect(await written()).toBe(1);
  });

  test('retry runs again after an error that asks for it, from the beginning', async () => {
    let runs = 0;
    const run = async (): Promise<void> => {
      runs += 1;
      await write(runs);
      if (runs < 3) throw Object.assign(new Error('busy'), { code: '40001' });
    };
    await retry(session.tx, run);
    expect(await session.run('SELECT id FROM ledger')).toEqual([{ id: 3 }]);
    runs = -10;
    expect(await rejection(retry(session.tx, run, { attempts: 2 }))).toMatchObject({ code: '40001' });
    expect(runs).toBe(-8);
  });
});
