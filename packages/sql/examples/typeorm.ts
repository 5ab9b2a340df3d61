/** A transaction of TypeORM for the verbs of holdfast-sql. */
import { checkFence, fencedUpdate, idempotent, type SqlSeam } from 'holdfast-sql';
import type { DataSource, EntityManager } from 'typeorm';

export function typeormSeam(manager: EntityManager): SqlSeam {
  const { queryRunner } = manager;
  if (queryRunner === undefined) throw new TypeError('expected the manager of a transaction');
  const dialect = queryRunner.connection.options.type === 'postgres' ? 'postgresql' : 'mysql';
  return {
    dialect,
    async query(sql, params) {
      // With `true` the answer is the same for every kind of statement.
      const { records = [], raw } = await queryRunner.query(sql, [...params], true);
      if (dialect === 'postgresql' || Array.isArray(raw)) return { rows: records };
      return { rows: [], count: raw.affectedRows, insertId: raw.insertId };
    },
    // TypeORM does not hear that MySQL has ended the transaction: there the server is asked.
    ...(dialect === 'postgresql' ? { inTransaction: () => queryRunner.isTransactionActive } : {}),
  };
}

export async function sell(source: DataSource, fence: number, request: string): Promise<number> {
  return await source.transaction(async (manager) => {
    const tx = typeormSeam(manager);
    await checkFence(tx, { resource: 'stock', fence });
    return await idempotent(tx, request, async () => {
      const [item] = await manager.query('SELECT stock FROM item WHERE id = 1');
      await fencedUpdate(tx, { table: 'item', where: { id: 1 }, set: { stock: item.stock - 1 }, fence });
      return item.stock - 1;
    });
  });
}
