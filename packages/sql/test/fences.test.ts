/** checkFence, checkFences and fencedUpdate on every driver and setting. */
import { beforeEach, describe, expect, test } from 'vitest';
import { rejection } from '../../holdfast/test/support/rejection.ts';
import {
  checkFence,
  checkFences,
  fencedUpdate,
  NotInTransactionError,
  resetFence,
  StaleFenceError,
} from '../src/index.ts';
import { useDatabases } from './support/databases.ts';
import { DRIVERS, type Session } from './support/sessions.ts';

/** Microseconds, as real fences are, well below now. */
const FENCE = 1_700_000_000_000_000;
const { databases, brands } = useDatabases('postgresql', 'mariadb');

describe.each(DRIVERS.filter(({ brand }) => brands.includes(brand)))('on $title', (driver) => {
  let session: Session;
  let database = '';

  beforeEach(async () => {
    database = await databases.create(driver.brand);
    session = await databases.open(driver, database);
  });

  /** Checks in a transaction that commits. What it threw, or null. */
  async function check(fence: number, resource = 'stock'): Promise<unknown> {
    await session.begin();
    try {
      await checkFence(session.tx, { resource, fence });
      await session.commit();
      return null;
    } catch (error) {
      await session.rollback();
      return error;
    }
  }

  const stored = async (): Promise<number> =>
    Number((await session.run("SELECT fence FROM holdfast_fence WHERE resource = 'stock'"))[0]?.['fence']);

  test('a first fence, an equal one and a newer one pass, an older one is refused', async () => {
    expect(await check(FENCE)).toBeNull();
    expect(await check(FENCE)).toBeNull();
    expect(await check(FENCE + 1)).toBeNull();
    const error = await check(FENCE);
    expect(error).toBeInstanceOf(StaleFenceError);
    expect(error).toMatchObject({
      code: 'ESTALEFENCE',
      resource: 'stock',
      fence: FENCE,
      seen: FENCE + 1,
      aheadMs: 0,
    });
    expect(await stored()).toBe(FENCE + 1);
    expect(await check(FENCE + 1)).toBeNull();
  });

  test('a fence is compared as a number, also where it has one digit more', async () => {
    expect(await check(9)).toBeNull();
    expect(await check(10)).toBeNull();
    expect(await check(9)).toBeInstanceOf(StaleFenceError);
    expect(await check(Number.MAX_SAFE_INTEGER)).toBeNull();
    expect(await check(Number.MAX_SAFE_INTEGER - 1)).toMatchObject({ seen: Number.MAX_SAFE_INTEGER });
  });

  test('a fence that is rolled back has not been seen', async () => {
    await session.begin();
    await checkFence(session.tx, { name: 'stock', fence: FENCE + 5 });
    await session.rollback();
    expect(await check(FENCE)).toBeNull();
  });

  test('a fence of a clock that was ahead says how far, and can be reset', async () => {
    const ahead = (Date.now() + 3_600_000) * 1000;
    expect(await check(ahead)).toBeNull();
    const error = await check(Date.now() * 1000);
    expect((error as StaleFenceError).aheadMs).toBeGreaterThan(3_000_000);
    await session.begin();
    expect(await resetFence(session.tx, 'stock')).toBe(true);
    expect(await resetFence(session.tx, 'stock')).toBe(false);
    await session.commit();
    expect(await check(Date.now() * 1000)).toBeNull();
  });

  test('resources are compared by bytes', async () => {
    const resources = ['a', 'A', 'á', 'a ', 'a\u0301', ' a', 'ａ', 'x'.repeat(1_023), 'x'.repeat(1_024)];
    // Each fence is older than the one before: two that share a row would be refused.
    for (const [index, resource] of resources.entries())
      expect(await check(FENCE - index, resource)).toBeNull();
    expect(await session.run('SELECT * FROM holdfast_fence')).toHaveLength(resources.length);
    for (const [index, resource] of resources.entries())
      expect(await check(FENCE - index - 1, resource)).toMatchObject({ resource, seen: FENCE - index });
  });

  test('without a transaction it is refused', async () => {
    const alone = await rejection(checkFence(session.tx, { resource: 'stock', fence: FENCE }));
    expect(alone).toBeInstanceOf(NotInTransactionError);
    expect(alone).toMatchObject({ code: 'ENOTRANSACTION' });
  });

  test('rolling back to a savepoint frees the fence', async () => {
    await session.begin();
    await session.run('SAVEPOINT before_check');
    await checkFence(session.tx, { resource: 'stock', fence: FENCE + 5 });
    await session.run('ROLLBACK TO SAVEPOINT before_check');
    await session.commit();
    expect(await check(FENCE)).toBeNull();
  });

  test('two owners of two resources, in opposite orders, do not block each other', async () => {
    const other = await databases.open(driver, database);
    const entries = [
      { resource: 'b', fence: 1 },
      { resource: 'a', fence: 1 },
      { resource: 'ä', fence: 1 },
      { resource: 'Z', fence: 1 },
    ];
    const work = async (each: Session, list: typeof entries): Promise<void> => {
      for (let round = 0; round < 20; round += 1) {
        await each.begin();
        await checkFences(each.tx, list);
        await each.commit();
      }
    };
    await Promise.all([work(session, entries), work(other, entries.toReversed())]);
  });

  describe('fencedUpdate', () => {
    beforeEach(async () => {
      await session.run(
        'CREATE TABLE item (id INT PRIMARY KEY, `left` INT, fence BIGINT NOT NULL DEFAULT 0)'.replaceAll(
          '`',
          driver.brand === 'mariadb' ? '`' : '"',
        ),
      );
      await session.run('INSERT INTO item (id) VALUES (1), (2)');
    });

    async function update(
      fence: number,
      left = 5,
      where: Record<string, unknown> = { id: 1 },
    ): Promise<unknown> {
      await session.begin();
      try {
        await fencedUpdate(session.tx, { table: 'item', where, set: { left }, fence });
        await session.commit();
        return null;
      } catch (error) {
        await session.rollback();
        return error;
      }
    }

    test('changes one row, again with the same values, and refuses an older fence', async () => {
      expect(await update(FENCE)).toBeNull();
      expect(await update(FENCE)).toBeNull();
      expect(await update(FENCE + 1, 4)).toBeNull();
      expect(await update(FENCE)).toMatchObject({ code: 'ESTALEFENCE', fence: FENCE, seen: FENCE + 1 });
      const [row] = await session.run('SELECT * FROM item WHERE id = 1');
      expect(row).toMatchObject({ left: 4 });
    });

    test('a row that is missing, and a condition that names several, are errors', async () => {
      expect(String(await update(FENCE, 5, { id: 3 }))).toContain('expected a row of item with id=3, got 0');
      expect(await update(FENCE, 5, { fence: 0 })).toMatchObject({
        message: expect.stringContaining('expected one row, got 2'),
      });
      expect(await session.run('SELECT id FROM item WHERE fence > 0')).toEqual([]);
    });

    test('a row whose fence is null is an error that says so', async () => {
      await session.run('CREATE TABLE loose (id INT PRIMARY KEY, fence BIGINT)');
      await session.run('INSERT INTO loose (id) VALUES (1)');
      await session.begin();
      const wrong = rejection(
        fencedUpdate(session.tx, { table: 'loose', where: { id: 1 }, set: { id: 1 }, fence: 1 }),
      );
      expect(String(await wrong)).toContain('NOT NULL DEFAULT 0');
      await session.rollback();
    });
  });
});
