/** A transaction of Drizzle for the verbs of holdfast-sql, on PostgreSQL (node-postgres) and on MySQL (mysql2). */
import { type SQL, sql as sqlOf } from 'drizzle-orm';
import type { MySql2Database } from 'drizzle-orm/mysql2';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { checkFence, fencedUpdate, idempotent, type SqlSeam } from 'holdfast-sql';

type PgTransaction = Parameters<Parameters<NodePgDatabase['transaction']>[0]>[0];
type MysqlTransaction = Parameters<Parameters<MySql2Database['transaction']>[0]>[0];

/** Each placeholder appears once and in order, so that the text can be cut there. */
function withParams(text: string, params: readonly unknown[]): SQL {
  const parts = text.split(/\$\d+|\?/).flatMap((part, index) => {
    const raw = sqlOf.raw(part);
    return index < params.length ? [raw, sqlOf`${sqlOf.param(params[index])}`] : [raw];
  });
  return sqlOf.join(parts);
}

export function drizzlePgSeam(tx: PgTransaction): SqlSeam {
  return {
    dialect: 'postgresql',
    query: async (text, params) => ({ rows: (await tx.execute(withParams(text, params))).rows }),
  };
}

export function drizzleMysqlSeam(tx: MysqlTransaction): SqlSeam {
  return {
    dialect: 'mysql',
    async query(text, params) {
      const [result] = await tx.execute(withParams(text, params));
      if (Array.isArray(result)) return { rows: result };
      return { rows: [], count: result.affectedRows, insertId: result.insertId };
    },
  };
}

type AnyTransaction = { execute(query: SQL): unknown };

async function work(tx: SqlSeam, drizzle: AnyTransaction, fence: number, request: string): Promise<number> {
  await checkFence(tx, { resource: 'stock', fence });
  return await idempotent(tx, request, async () => {
    await drizzle.execute(sqlOf`UPDATE item SET stock = stock - 1 WHERE id = ${1}`);
    const { rows } = await tx.query('SELECT stock FROM item WHERE id = 1', []);
    const [stock] = Object.values(rows[0] ?? {});
    await fencedUpdate(tx, { table: 'item', where: { id: 1 }, set: { stock }, fence });
    return Number(stock);
  });
}

export async function sellOnPg(db: NodePgDatabase, fence: number, request: string): Promise<number> {
  return await db.transaction((tx) => work(drizzlePgSeam(tx), tx, fence, request));
}

export async function sellOnMysql(db: MySql2Database, fence: number, request: string): Promise<number> {
  return await db.transaction((tx) => work(drizzleMysqlSeam(tx), tx, fence, request));
}
