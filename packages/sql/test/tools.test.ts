/** better-sqlite3 and Prisma, which are not in the lock file: `npm run test:sql -- --tools`. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { needs } from '../../holdfast/test/support/needs.ts';
import { startProgram, useChildren } from '../../holdfast/test/support/processes/child.ts';
import { compiledChild } from '../../holdfast/test/support/processes/compiled-child.ts';
import { makeGuardedFolder } from '../../holdfast/test/support/processes/process-guard.ts';
import { rejection } from '../../holdfast/test/support/rejection.ts';
import { type Prisma, prismaSeam, sell } from '../examples/prisma.ts';
import { checkFence, isRetryable, NotInTransactionError, StaleFenceError } from '../src/index.ts';
import { useDatabases } from './support/databases.ts';
import { pgDriver } from './support/sessions.ts';
import { SQLITE_RULES } from './support/sqlite-rules.ts';
import { buildBetterSqlite, installTools, isAsked } from './support/tools.ts';

/** Packages are fetched, and one is compiled. */
const LIMIT_MS = 1_200_000;

describe.runIf(isAsked)('with tools of its own', { timeout: LIMIT_MS }, () => {
  const { databases, brands } = useDatabases(...(isAsked ? (['postgresql'] as const) : []));
  useChildren();

  test('better-sqlite3 keeps every rule of SQLite', async (context) => {
    const built = buildBetterSqlite(installTools());
    if ('failure' in built) {
      needs(`better-sqlite3 (${built.failure})`, false, 'its row of SQLite');
      return context.skip();
    }
    const child = startProgram<{ rule: string; error: string | null }>([
      process.execPath,
      compiledChild(join(import.meta.dirname, 'children/sqlite.ts')),
      built.module,
      makeGuardedFolder('holdfast-sqlite-'),
    ]);
    await child.exited;
    const expected = Object.keys(SQLITE_RULES).map((rule) => ({ rule, error: null }));
    expect(child.lines, child.stderr).toEqual(expected);
  });

  test.runIf(brands.length > 0)('Prisma: a sale counts once, and a late owner is refused', async () => {
    const load = createRequire(join(installTools(), 'package.json'));
    const { PrismaPg } = load('@prisma/adapter-pg') as { PrismaPg: new (options: object) => object };
    const { PrismaClient } = load('./generated/index.js') as {
      PrismaClient: new (options: object) => Prisma & { $disconnect(): Promise<void> };
    };
    const database = await databases.create('postgresql');
    const session = await databases.open(pgDriver, database);
    await session.run('CREATE TABLE item (id INT PRIMARY KEY, stock INT, fence BIGINT NOT NULL DEFAULT 0)');
    await session.run('INSERT INTO item (id, stock) VALUES (1, 10)');
    const at = `postgres://test@127.0.0.1:${databases.portOf('postgresql')}/${database}`;
    const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: at }) });
    expect(await sell(prisma, 11, 'first')).toBe(9);
    expect(await sell(prisma, 11, 'first')).toBe(9);
    expect(await rejection(sell(prisma, 10, 'second'))).toBeInstanceOf(StaleFenceError);
    expect(await sell(prisma, 12, 'second')).toBe(8);
    // The root client has the same method, and is the usual mistake.
    const alone = rejection(checkFence(prismaSeam(prisma as never), { resource: 'stock', fence: 12 }));
    expect(await alone).toBeInstanceOf(NotInTransactionError);
    const conflict = prisma.$transaction(async (tx) => {
      await tx.$queryRawUnsafe("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$");
    });
    expect(isRetryable(await rejection(conflict))).toBe(true);
    await prisma.$disconnect();
  });
});
