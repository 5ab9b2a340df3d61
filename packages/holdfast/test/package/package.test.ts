/** The package as users get it: built, installed in an empty folder, imported and required. */
import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rowsOf } from '../support/extent.ts';
import { installPackage, MODULES, type Packed, printed } from './installed-package.ts';

const SIZE_MAX_BYTES = 300_000;
const BESIDE = ['typescript', '@types', 'ioredis'];

let folder = '';
let packed: Packed = { filename: '', unpackedSize: 0, files: [] };

const runNode = (args: readonly string[], cwd: string): Promise<string> =>
  printed(process.execPath, args, cwd);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-package-'));
  packed = await installPackage(folder, BESIDE);
}, 180_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Writes a file beside the installed package and runs it; what it printed. */
async function runFile(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return (await runNode(['--no-warnings', file], folder)).trim();
}

const PROOF = "console.log(typeof Locks, CHANNELS.acquire, new LockError('ELOCKLOST', 'x').code)";

test('an ES module imports it', async () => {
  const printed = await runFile(
    'user.mjs',
    `import { CHANNELS, LockError, Locks } from 'holdfast';\n${PROOF};\n`,
  );
  expect(printed).toBe('function holdfast:acquire ELOCKLOST');
});

test('a CommonJS module requires it', async () => {
  const printed = await runFile(
    'user.cjs',
    `const { CHANNELS, LockError, Locks } = require('holdfast');\n${PROOF};\n`,
  );
  expect(printed).toBe('function holdfast:acquire ELOCKLOST');
});

test('nothing but its door and its manifest can be imported', async () => {
  const script = "import('holdfast/dist/locks.js').catch((error) => console.log(error.code))";
  expect(await runFile('inner.mjs', script)).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED');
});

const EMBEDDED = `import { EmbeddedNode } from 'holdfast/testing';
const node = new EmbeddedNode();
console.log(await node.command('EVAL', 'return 7', '0').catch((error) => error.message));
`;

test('the embedded node says which package it needs, and runs once that is there', async () => {
  expect(await runFile('embedded.mjs', EMBEDDED)).toContain('npm install --save-dev wasmoon-lua5.1');
  await symlink(join(MODULES, 'wasmoon-lua5.1'), join(folder, 'node_modules/wasmoon-lua5.1'));
  expect(await runFile('embedded.mjs', EMBEDDED)).toBe('7');
});

/** It has `Symbol.asyncDispose`. */
const LIBRARY = ['--lib', 'es2022,esnext.disposable'];

/** The newest compiler, and the oldest that we say we support: the one that attw brings, 5.6. */
const COMPILERS = rowsOf([
  { tsc: join(MODULES, 'typescript/bin/tsc') },
  { tsc: join(MODULES, '@arethetypeswrong/core/node_modules/typescript/bin/tsc'), isMatrix: true },
]);

test('a strict TypeScript user compiles against its declarations alone', { timeout: 90_000 }, async () => {
  await writeFile(
    join(folder, 'user.mts'),
    `import { Redis } from 'ioredis';
import { type FencedLease, Locks } from 'holdfast';
import { EmbeddedNode } from 'holdfast/testing';

const locks = new Locks(new Redis({ lazyConnect: true }));
export const embedded: Locks = new Locks(new EmbeddedNode().client());
export const fence: Promise<number> = locks.lock('a').using((lease: FencedLease) => lease.fence);
// @ts-expect-error a mutex has no fence
export const none: Promise<number> = locks.mutex('a').using((lease) => lease.fence);
`,
  );
  for (const { tsc } of COMPILERS) {
    for (const module of [['nodenext'], ['esnext', '--moduleResolution', 'bundler']]) {
      const options = ['--strict', '--noEmit', '--module', ...module, '--target', 'es2022', ...LIBRARY];
      const checked = ['--skipLibCheck', 'false', '--types', 'node', 'user.mts'];
      await runNode([tsc, ...options, ...checked], folder);
    }
  }
});

test('is small, brings no dependency, and nothing but what it needs', async () => {
  expect(packed.unpackedSize).toBeLessThan(SIZE_MAX_BYTES);
  const strangers = packed.files.filter(
    ({ path }) => !/^(dist\/.*\.(js|d\.ts)|[A-Z]+(\.md)?|package\.json)$/.test(path),
  );
  expect(strangers).toEqual([]);
  const installed = await readdir(join(folder, 'node_modules'));
  expect(installed.filter((name) => !name.startsWith('.')).sort()).toEqual(
    ['holdfast', 'wasmoon-lua5.1', ...BESIDE].filter((name) => installed.includes(name)).sort(),
  );
});

test('keeps the names of its errors', async () => {
  const script =
    "import { LockConfigError, Locks } from 'holdfast';\ntry { new Locks(7) } catch (error) { console.log(error.name, error instanceof LockConfigError, error.message) }";
  expect(await runFile('names.mjs', script)).toBe(
    'LockConfigError true expected a client of ioredis, node-redis, iovalkey or GLIDE, got a number',
  );
});

test('passes publint and attw', async () => {
  const tarball = join(folder, packed.filename);
  const publint = await runNode([join(MODULES, 'publint/src/cli.js'), 'run', tarball, '--strict'], folder);
  expect(publint).toContain('All good!');
  const attw = join(MODULES, '@arethetypeswrong/cli/dist/index.js');
  // Its exit code says what is wrong beside what nobody can expect of an ES module.
  expect(await runNode([attw, tarball, '--profile', 'esm-only'], folder)).toContain('holdfast v');
}, 120_000);
