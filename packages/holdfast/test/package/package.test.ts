/** The package as users get it: built, installed in an empty folder, imported and required. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));
const MODULES = join(PACKAGE, '../../node_modules');
const run = promisify(execFile);

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-package-'));
  const installed = join(folder, 'node_modules/holdfast');
  await mkdir(installed, { recursive: true });
  await cp(join(PACKAGE, 'package.json'), join(installed, 'package.json'));
  const build = ['-p', join(PACKAGE, 'tsconfig.build.json'), '--outDir', join(installed, 'dist')];
  await run(process.execPath, [join(MODULES, 'typescript/bin/tsc'), ...build]);
  await symlink(join(MODULES, 'typescript'), join(folder, 'node_modules/typescript'));
  await symlink(join(MODULES, '@types'), join(folder, 'node_modules/@types'));
  await symlink(join(MODULES, 'ioredis'), join(folder, 'node_modules/ioredis'));
}, 120_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Writes a file beside the installed package and runs it; what it printed. */
async function runFile(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  const { stdout } = await run(process.execPath, ['--no-warnings', file], { cwd: folder });
  return stdout.trim();
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

test('a strict TypeScript user compiles against its declarations alone', async () => {
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
  const options = [
    '--strict',
    '--noEmit',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--skipLibCheck',
    'false',
  ];
  const tsc = join(MODULES, 'typescript/bin/tsc');
  await run(process.execPath, [tsc, ...options, '--types', 'node', 'user.mts'], { cwd: folder }).catch(
    (error) => {
      expect.fail(String(error.stdout));
    },
  );
});
