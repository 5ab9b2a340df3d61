/** The package as users get it: built, installed beside holdfast in an empty folder, imported and required. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  installPackage,
  installTesting,
  MODULES,
  type Packed,
  printed,
} from '../../../holdfast/test/package/installed-package.ts';

/** A busy machine starts processes slowly, and compilers slower still. */
const LIMIT_MS = 300_000;

let folder = '';
let packed: Packed = { filename: '', files: [] };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-testing-package-'));
  await installPackage(folder, []);
  packed = await installTesting(folder);
}, LIMIT_MS);

afterAll(() => rm(folder, { recursive: true, force: true }));

const installedFile = (path: string): Promise<string> =>
  readFile(join(folder, 'node_modules/holdfast-testing', path), 'utf8');

const USE = `const node = new EmbeddedNode();
const locks = new Locks(node.client());
locks.lock('a').using(() => node.command('HLEN', 'a'), { waitMs: 5_000 }).then(async (holders) => {
  await locks.close();
  await node.close();
  console.log(holders);
});
`;

test.each([
  ['user.mjs', "import { Locks } from 'holdfast';\nimport { EmbeddedNode } from 'holdfast-testing';", []],
  [
    'user.cjs',
    "const { Locks } = require('holdfast');\nconst { EmbeddedNode } = require('holdfast-testing');",
    [],
  ],
  [
    'old-user.cjs',
    "const { Locks } = require('holdfast');\nconst { EmbeddedNode } = require('holdfast-testing');",
    ['--no-experimental-require-module'],
  ],
])('locks work on the embedded node in %s', { timeout: LIMIT_MS }, async (name, imports, options) => {
  const file = join(folder, name);
  await writeFile(file, `${imports}\n${USE}`);
  const said = await printed(process.execPath, ['--no-warnings', ...options, file], folder);
  expect(said.trim()).toBe('1');
});

test('has one program for each kind of module, its declarations, and nothing else', () => {
  const paths = packed.files.map(({ path }) => path);
  expect(paths.filter((path) => path.endsWith('.js')).sort()).toEqual([
    'dist/cjs/index.js',
    'dist/esm/index.js',
  ]);
  const KNOWN = /^(dist\/.*\.(js|js\.map|d\.ts)|README\.md|LICENSE|(dist\/cjs\/)?package\.json)$/;
  expect(paths.filter((path) => !KNOWN.test(path))).toEqual([]);
  expect(paths).toEqual(expect.arrayContaining(['README.md', 'LICENSE']));
});

test('imports holdfast and its Lua engine, which its manifest names, and contains neither', async () => {
  const { dependencies, peerDependencies } = JSON.parse(await installedFile('package.json'));
  const named = Object.keys({ ...dependencies, ...peerDependencies }).sort();
  for (const format of ['esm', 'cjs']) {
    const program = await installedFile(`dist/${format}/index.js`);
    const imported = [...program.matchAll(/(?:from |require\(|import\()"([^"]+)"/g)].map(([, name]) => name);
    const foreign = new Set(imported.filter((name) => !name?.startsWith('node:')));
    expect([...foreign].sort()).toEqual(named);
    const { sources } = JSON.parse(await installedFile(`dist/${format}/index.js.map`));
    expect(sources).not.toHaveLength(0);
    for (const source of sources) expect(source).toMatch(/^\.\.\/\.\.\/src\/[\w/-]+\.ts$/);
  }
});

test('needs a holdfast of the same minor version', async () => {
  const { version, peerDependencies } = JSON.parse(await installedFile('package.json'));
  expect(peerDependencies).toEqual({ holdfast: `^${version}` });
});

test('passes publint and attw', { timeout: LIMIT_MS }, async () => {
  const tarball = join(folder, packed.filename);
  const node = (args: readonly string[]): Promise<string> => printed(process.execPath, args, folder);
  expect(await node([join(MODULES, 'publint/src/cli.js'), 'run', tarball, '--strict'])).toContain(
    'All good!',
  );
  // The exit code of attw says what is wrong; nothing is excused.
  const attw = join(MODULES, '@arethetypeswrong/cli/dist/index.js');
  expect(await node([attw, tarball])).toContain('No problems found');
});
