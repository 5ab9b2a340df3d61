/** holdfast-sql/sync on node:sqlite, in a Node that has it: the rules, a frozen owner, processes that are killed. */
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Child, startProgram, useChildren } from '../../holdfast/test/support/processes/child.ts';
import { compiledChild } from '../../holdfast/test/support/processes/compiled-child.ts';
import { makeGuardedFolder } from '../../holdfast/test/support/processes/process-guard.ts';
import { duplicateRequests, REQUESTS, REQUESTS_LIMIT_MS } from './support/duplicated-requests.ts';
import { sqliteNode } from './support/sqlite-node.ts';
import { SQLITE_RULES } from './support/sqlite-rules.ts';

const node = sqliteNode() ?? '';
const CHILDREN = join(import.meta.dirname, 'children');
useChildren();

interface Verdict {
  readonly rule: string;
  readonly error: string | null;
}

const SET_UP = `
import { DatabaseSync } from 'node:sqlite';
const db = new DatabaseSync(process.argv[1]);
db.exec('PRAGMA journal_mode = WAL');
db.exec('PRAGMA synchronous = OFF');
db.exec(process.argv[2]);
console.log(JSON.stringify(db.prepare(process.argv[3]).all()));
`;
/** Says the code of SQLite with which a second connection is refused, which does not wait for long. */
const PROBE = `
import { DatabaseSync } from 'node:sqlite';
const db = new DatabaseSync(process.argv[1]);
db.exec('PRAGMA busy_timeout = 50');
try {
  db.exec('BEGIN IMMEDIATE');
  console.log(JSON.stringify({ code: 0 }));
} catch (error) {
  console.log(JSON.stringify({ code: error.errcode }));
}
`;
const SQLITE_BUSY = 5;
const TABLES = `
CREATE TABLE item (id INTEGER PRIMARY KEY, stock INTEGER);
INSERT INTO item VALUES (1, 10);
CREATE TABLE ledger (id INTEGER);
`;

describe.runIf(node !== '')('on node:sqlite', () => {
  const start = <Line>(...args: string[]): Child<Line> =>
    startProgram<Line>([node, '--no-warnings', ...args]);
  const newFile = (): string => join(makeGuardedFolder('holdfast-sqlite-'), 'test.db');

  /** Runs statements in a process of its own, and gives the rows of the last. */
  async function ask(file: string, sql: string, query = 'SELECT 1'): Promise<Record<string, unknown>[]> {
    const child = start<Record<string, unknown>[]>('--input-type=module', '-e', SET_UP, file, sql, query);
    const rows = await child.next();
    await child.exited;
    return rows;
  }

  const schema = async (file: string): Promise<unknown> => {
    const { schemaOf } = await import('../src/dialects/schema.ts');
    const { tablesOf } = await import('../src/dialects/names.ts');
    return await ask(file, `${schemaOf('sqlite', tablesOf('sqlite')).join(';')};${TABLES}`);
  };

  describe('the rule', () => {
    const verdicts = new Map<string, string | null>();

    beforeAll(async () => {
      const child = start<Verdict>(
        compiledChild(join(CHILDREN, 'sqlite.ts')),
        'node:sqlite',
        makeGuardedFolder('holdfast-sqlite-'),
      );
      await child.exited;
      if (child.lines.length === 0) throw new Error(child.stderr);
      for (const { rule, error } of child.lines) verdicts.set(rule, error);
    });

    test.each(Object.keys(SQLITE_RULES))('%s', (rule) => {
      expect(verdicts.get(rule)).toBeNull();
    });
  });

  const startOwner = (file: string, where: string): Child<{ at?: string; end?: string }> =>
    start(compiledChild(join(CHILDREN, 'owner.ts')), 'sqlite', file, where);
  /** Another owner, with a larger fence, that sells one item too; it waits for a busy database as long as it must. */
  const startSuccessor = (file: string): Child<{ at?: string; end?: string }> =>
    start(compiledChild(join(CHILDREN, 'owner.ts')), 'sqlite', file, 'successor');

  test('an owner frozen outside its transaction is refused when it wakes', async () => {
    const file = newFile();
    await schema(file);
    const owner = startOwner(file, 'outside');
    await owner.next(({ at }) => at === 'outside');
    owner.stop();
    expect((await startSuccessor(file).next(({ end }) => end !== undefined)).end).toBe('sold');
    owner.cont();
    owner.send('go on');
    expect((await owner.next(({ end }) => end !== undefined)).end).toBe('ESTALEFENCE');
    expect(await ask(file, '', 'SELECT stock FROM item')).toEqual([{ stock: 9 }]);
  });

  test('an owner frozen inside its transaction keeps its successor busy; its commit lands first, in order', async () => {
    const file = newFile();
    await schema(file);
    const owner = startOwner(file, 'inside');
    await owner.next(({ at }) => at === 'inside');
    owner.stop();
    const successor = startSuccessor(file);
    await successor.next(({ at }) => at === 'successor');
    const probe = start<{ code: number }>('--input-type=module', '-e', PROBE, file);
    expect(await probe.next()).toEqual({ code: SQLITE_BUSY });
    expect(successor.lines.filter(({ end }) => end !== undefined)).toEqual([]);
    owner.cont();
    owner.send('go on');
    expect((await owner.next(({ end }) => end !== undefined)).end).toBe('sold');
    expect((await successor.next(({ end }) => end !== undefined)).end).toBe('sold');
    expect(await ask(file, '', 'SELECT stock FROM item')).toEqual([{ stock: 8 }]);
  });

  test(`${REQUESTS} requests, handled by four processes that are killed at random, write ${REQUESTS} rows`, {
    timeout: REQUESTS_LIMIT_MS,
  }, async () => {
    const file = newFile();
    await schema(file);
    await duplicateRequests(node, 'sqlite', file);
    const rows = await ask(file, '', 'SELECT id FROM ledger ORDER BY id');
    expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: REQUESTS }, (_, id) => id));
  });
});
