/** A transaction of Prisma on PostgreSQL for the verbs of holdfast-sql. */
import { checkFence, fencedUpdate, idempotent, type SqlSeam } from 'holdfast-sql';

/** What `prisma.$transaction(async (tx) => …)` passes. */
export interface PrismaTransaction {
  $queryRawUnsafe(sql: string, ...params: unknown[]): Promise<unknown>;
}

export interface Prisma {
  $transaction<T>(work: (tx: PrismaTransaction) => Promise<T>): Promise<T>;
}

export function prismaSeam(tx: PrismaTransaction): SqlSeam {
  return {
    dialect: 'postgresql',
    async query(sql, params) {
      const rows = await tx.$queryRawUnsafe(sql, ...params);
      return { rows: rows as Record<string, unknown>[] };
    },
  };
}

export async function sell(prisma: Prisma, fence: number, request: string): Promise<number> {
  return await prisma.$transaction(async (transaction) => {
    const tx = prismaSeam(transaction);
    await checkFence(tx, { resource: 'stock', fence });
    return await idempotent(tx, request, async () => {
      const { rows } = await tx.query('SELECT stock FROM item WHERE id = 1', []);
      const stock = Number(Object.values(rows[0] ?? {})[0]) - 1;
      await fencedUpdate(tx, { table: 'item', where: { id: 1 }, set: { stock }, fence });
      return stock;
    });
  });
}
