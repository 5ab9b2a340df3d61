/** The package as users get it: built, installed in an empty folder, imported and required. */
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installPackage, installTesting, MODULES, type Packed, printed } from './installed-package.ts';

/** A busy machine starts processes slowly, and compilers slower still. */
const LIMIT_MS = 300_000;
const BESIDE = ['ioredis'];

let folder = '';
let packed: Packed = { filename: '', files: [] };
let installed: string[] = [];

const runNode = (args: readonly string[], cwd: string): Promise<string> =>
  printed(process.execPath, args, cwd);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-package-'));
  packed = await installPackage(folder, BESIDE);
  installed = (await readdir(join(folder, 'node_modules'))).filter((name) => !name.startsWith('.'));
  await installTesting(folder);
}, LIMIT_MS);

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Writes a file beside the installed package and runs it; what it printed. */
async function runFile(name: string, text: string, options: readonly string[] = []): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return (await runNode(['--no-warnings', ...options, file], folder)).trim();
}

const PROOF = "console.log(typeof Locks, CHANNELS.acquire, new LockError('ELOCKLOST', 'x').code)";

test('an ES module imports it', async () => {
  const printed = await runFile(
    'user.mjs',
    `import { CHANNELS, LockError, Locks } from 'holdfast';\n${PROOF};\n`,
  );
  expect(printed).toBe('function holdfast:acquire ELOCKLOST');
});

test('a CommonJS module requires it, also where Node cannot require an ES module', async () => {
  const text = `const { CHANNELS, LockError, Locks } = require('holdfast');\n${PROOF};\n`;
  for (const options of [[], ['--no-experimental-require-module']]) {
    expect(await runFile('user.cjs', text, options)).toBe('function holdfast:acquire ELOCKLOST');
  }
});

test('nothing but its doors and its manifest can be imported', async () => {
  const script = "import('holdfast/dist/esm/index.js').catch((error) => console.log(error.code))";
  expect(await runFile('inner.mjs', script)).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED');
});

test('a process that has both copies of both packages can mix them', { timeout: LIMIT_MS }, async () => {
  const text = await readFile(join(import.meta.dirname, 'two-copies.mjs'), 'utf8');
  expect((await runFile('two-copies.mjs', text)).match(/^kept: /gm)).toHaveLength(5);
});

test('has one program for each kind of module, brings no dependency, and nothing else', () => {
  const paths = packed.files.map(({ path }) => path);
  expect(paths.filter((path) => path.endsWith('.js')).sort()).toEqual([
    'dist/cjs/index.js',
    'dist/esm/index.js',
  ]);
  const KNOWN =
    /^(dist\/.*\.(js|js\.map|d\.ts)|docs\/.*\.md|lua\/.*\.lua|[A-Z]+(\.md)?|(dist\/cjs\/)?package\.json)$/;
  expect(paths.filter((path) => !KNOWN.test(path))).toEqual([]);
  expect(installed.sort()).toEqual(['holdfast', ...BESIDE].sort());
});

const USE_WRONGLY = `try { new Locks(7) } catch (error) {
  console.log(error.name, error instanceof LockConfigError, error.message);
  console.log(error.stack);
}`;
const WRONG = {
  'wrong.mjs': `import { LockConfigError, Locks } from 'holdfast';\n${USE_WRONGLY}`,
  'wrong.cjs': `const { LockConfigError, Locks } = require('holdfast');\n${USE_WRONGLY}`,
};

test.each(Object.entries(WRONG))(
  'an error that %s meets has its name, and a readable stack',
  async (file, text) => {
    const said = await runFile(file, text);
    expect(said).toMatch(
      /^LockConfigError true expected a client of ioredis, node-redis, iovalkey or GLIDE, got a number\n/,
    );
    expect(said).toContain('at new Locks (');
  },
);

test.each(Object.entries(WRONG))(
  'with source maps the stack of %s leads to the sources',
  async (file, text) => {
    const frames = [
      ...(await runFile(file, text, ['--enable-source-maps'])).matchAll(
        /holdfast\/src\/([\w/-]+\.ts):(\d+):\d+/g,
      ),
    ];
    expect(frames.map(([, source]) => source)).toContain('locks.ts');
    const lines = await Promise.all(
      frames.map(async ([, source = '', line]) => {
        const read = await readFile(join(import.meta.dirname, '../../src', source), 'utf8');
        return read.split('\n')[Number(line) - 1];
      }),
    );
    expect(lines).toContainEqual(expect.stringContaining('new LockConfigError('));
  },
);

test('source maps contain their sources, and name no place outside of the package', async () => {
  const maps = packed.files.map(({ path }) => path).filter((path) => path.endsWith('.map'));
  expect(maps).toHaveLength(2);
  for (const path of maps) {
    const file = join(folder, 'node_modules/holdfast', path);
    const map = JSON.parse(await readFile(file, 'utf8')) as { sources: string[]; sourcesContent: string[] };
    for (const [index, source] of map.sources.entries()) {
      const [, inPackage = ''] = /^(?:\.\.\/){2}(src\/.*\.ts)$/.exec(source) ?? [];
      expect(join(dirname(path), source)).toBe(inPackage);
      const text = await readFile(join(import.meta.dirname, '../..', inPackage), 'utf8');
      expect(map.sourcesContent[index]).toBe(text);
    }
  }
});

/** Addresses on a page that lead to files. */
async function linksOf(page: string): Promise<string[]> {
  const text = (await readFile(page, 'utf8')).replaceAll(/^```[\s\S]*?^```|`[^`\n]*`/gm, '');
  const targets = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target.split('#')[0] ?? '');
  return targets.filter((target) => target !== '' && !/^https?:/.test(target));
}

test('every link of its README and of its pages leads to a file of the package', async () => {
  const home = join(folder, 'node_modules/holdfast');
  const pages = packed.files.map(({ path }) => path).filter((path) => path.endsWith('.md'));
  expect(pages.length).toBeGreaterThan(20);
  expect((await linksOf(join(home, 'README.md'))).length).toBeGreaterThan(4);
  for (const page of pages) {
    for (const target of await linksOf(join(home, page))) {
      const file = join(dirname(page), target);
      expect(file.startsWith('..') || !existsSync(join(home, file)) ? `${page}: ${target}` : '').toBe('');
    }
  }
});

test(
  'passes publint and attw',
  async () => {
    const tarball = join(folder, packed.filename);
    const publint = await runNode([join(MODULES, 'publint/src/cli.js'), 'run', tarball, '--strict'], folder);
    expect(publint).toContain('All good!');
    const attw = join(MODULES, '@arethetypeswrong/cli/dist/index.js');
    // Its exit code says what is wrong; nothing is excused.
    expect(await runNode([attw, tarball], folder)).toContain('No problems found');
  },
  LIMIT_MS,
);
