/** holdfast-sql as users get it: built, installed in an empty folder, imported and required. */
import { expect, test } from 'vitest';
import { installSql } from '../../../holdfast/test/package/installed-package.ts';
import { FORMATS, LIMIT_MS, usePackage } from '../../../holdfast/test/package/use-package.ts';

const sql = usePackage('holdfast-sql', installSql);

/** The entries are two programs, each with its own copy of the errors. */
const USE = `
const error = new sync.StaleFenceError({ resource: 'r', fence: 1, seen: 2 });
console.log(typeof sql.checkFence, typeof sync.checkFence, error instanceof sql.StaleFenceError, error.name);
`;
const HEADS = {
  imports: "import * as sql from 'holdfast-sql';\nimport * as sync from 'holdfast-sql/sync';\n",
  requires: "const sql = require('holdfast-sql');\nconst sync = require('holdfast-sql/sync');\n",
};

test.each(FORMATS)('both entries work in %s', { timeout: LIMIT_MS }, async (file, head, options) => {
  expect(await sql.run(file, `${HEADS[head]}${USE}`, options)).toBe('function function true StaleFenceError');
});

test('has one program for each entry and kind of module, the plain SQL, and no dependency', async () => {
  expect(sql.paths.filter((path) => /\.(js|sql)$/.test(path)).sort()).toEqual([
    'dist/cjs/index.js',
    'dist/cjs/sync.js',
    'dist/esm/index.js',
    'dist/esm/sync.js',
    'sql/mysql.sql',
    'sql/postgresql.sql',
    'sql/sqlite.sql',
  ]);
  expect((await sql.manifest())['dependencies']).toBeUndefined();
});

test('passes publint and attw', { timeout: LIMIT_MS }, async () => {
  await sql.expectPublint();
  // `node10` does not know "exports": it has the entry `holdfast-sql` and no other.
  expect(await sql.attw(['--profile', 'node16'])).toContain('"holdfast-sql/sync"');
});
