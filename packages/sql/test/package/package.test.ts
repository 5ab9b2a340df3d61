/** holdfast-sql as users get it: built, installed in an empty folder, imported and required. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  installSql,
  MODULES,
  type Packed,
  printed,
} from '../../../holdfast/test/package/installed-package.ts';

/** A busy machine starts processes slowly, and compilers slower still. */
const LIMIT_MS = 300_000;

let folder = '';
let packed: Packed = { filename: '', files: [] };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-sql-package-'));
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  packed = await installSql(folder);
}, LIMIT_MS);

afterAll(() => rm(folder, { recursive: true, force: true }));

const runNode = (...args: string[]): Promise<string> => printed(process.execPath, args, folder);

/** The entries are two programs, each with its own copy of the errors. */
const PROOF = `
const error = new sync.StaleFenceError({ resource: 'r', fence: 1, seen: 2 });
console.log(typeof sql.checkFence, typeof sync.checkFence, error instanceof sql.StaleFenceError, error.name);
`;

test('an ES module imports both entries, and a CommonJS module requires them', async () => {
  const esm = `import * as sql from 'holdfast-sql';\nimport * as sync from 'holdfast-sql/sync';\n${PROOF}`;
  const cjs = `const sql = require('holdfast-sql');\nconst sync = require('holdfast-sql/sync');\n${PROOF}`;
  await writeFile(join(folder, 'user.mjs'), esm);
  await writeFile(join(folder, 'user.cjs'), cjs);
  const expected = 'function function true StaleFenceError';
  expect((await runNode('user.mjs')).trim()).toBe(expected);
  expect((await runNode('--no-experimental-require-module', 'user.cjs')).trim()).toBe(expected);
});

test('has one program for each entry and kind of module, the plain SQL, and no dependency', async () => {
  const paths = packed.files.map(({ path }) => path);
  expect(paths.filter((path) => /\.(js|sql)$/.test(path)).sort()).toEqual([
    'dist/cjs/index.js',
    'dist/cjs/sync.js',
    'dist/esm/index.js',
    'dist/esm/sync.js',
    'sql/mysql.sql',
    'sql/postgresql.sql',
    'sql/sqlite.sql',
  ]);
  const manifest = JSON.parse(await readFile(join(folder, 'node_modules/holdfast-sql/package.json'), 'utf8'));
  expect(manifest.dependencies).toBeUndefined();
});

test(
  'passes publint and attw',
  async () => {
    const tarball = join(folder, packed.filename);
    expect(await runNode(join(MODULES, 'publint/src/cli.js'), 'run', tarball, '--strict')).toContain(
      'All good!',
    );
    // Its exit code says what is wrong. `node10` does not know "exports": it has the entry `holdfast-sql` and no other.
    const attw = [join(MODULES, '@arethetypeswrong/cli/dist/index.js'), tarball, '--profile', 'node16'];
    expect(await runNode(...attw)).toContain('"holdfast-sql/sync"');
  },
  LIMIT_MS,
);
