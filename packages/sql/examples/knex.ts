/** A transaction of Knex for the verbs of holdfast-sql. */
import { checkFence, fencedUpdate, idempotent, type SqlSeam } from 'holdfast-sql';
import type { Knex } from 'knex';

/** Knex numbers the parameters itself: it wants question marks, also for PostgreSQL. */
export function knexSeam(trx: Knex.Transaction, dialect: 'postgresql' | 'mysql'): SqlSeam {
  return {
    dialect,
    async query(sql, params) {
      const answer = await trx.raw(sql.replaceAll(/\$\d+/g, '?'), params as Knex.RawBinding[]);
      if (dialect === 'postgresql') return { rows: answer.rows };
      const [result] = answer;
      return Array.isArray(result)
        ? { rows: result }
        : { rows: [], count: result.affectedRows, insertId: result.insertId };
    },
    // Knex does not hear that MySQL has ended the transaction: there the server is asked.
    ...(dialect === 'postgresql' ? { inTransaction: () => !trx.isCompleted() } : {}),
  };
}

export async function sell(
  knex: Knex,
  dialect: 'postgresql' | 'mysql',
  fence: number,
  request: string,
): Promise<number> {
  return await knex.transaction(async (trx) => {
    const tx = knexSeam(trx, dialect);
    await checkFence(tx, { resource: 'stock', fence });
    return await idempotent(tx, request, async () => {
      const { stock } = await trx('item').where({ id: 1 }).first('stock');
      await fencedUpdate(tx, { table: 'item', where: { id: 1 }, set: { stock: stock - 1 }, fence });
      return stock - 1;
    });
  });
}
