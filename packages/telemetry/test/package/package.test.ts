/** The package as users get it: built, installed beside holdfast in an empty folder, imported and required. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  installPackage,
  installTelemetry,
  MODULES,
  type Packed,
  printed,
} from '../../../holdfast/test/package/installed-package.ts';

/** A busy machine starts processes slowly, and compilers slower still. */
const LIMIT_MS = 300_000;

let folder = '';
let packed: Packed = { filename: '', files: [] };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-telemetry-package-'));
  await installPackage(folder, []);
  packed = await installTelemetry(folder);
}, LIMIT_MS);

afterAll(() => rm(folder, { recursive: true, force: true }));

const installedFile = (path: string): Promise<string> =>
  readFile(join(folder, 'node_modules/holdfast-telemetry', path), 'utf8');

const USE = `const registry = new client.Registry();
const telemetries = [startPrometheus(client, { registry }), startOpenTelemetry(api)];
channel('holdfast:waiter:woken').publish({ lock: 'a', kind: 'lock', reason: 'time' });
registry.metrics().then((text) => {
  console.log(/holdfast_wakeups_total\\{.*\\} 1/.test(text));
  for (const telemetry of telemetries) telemetry.stop();
});
`;
const IMPORTS = `import { channel } from 'node:diagnostics_channel';
import * as api from '@opentelemetry/api';
import * as client from 'prom-client';
import { startOpenTelemetry, startPrometheus } from 'holdfast-telemetry';
`;
const REQUIRES = `const { channel } = require('node:diagnostics_channel');
const api = require('@opentelemetry/api');
const client = require('prom-client');
const { startOpenTelemetry, startPrometheus } = require('holdfast-telemetry');
`;

test.each([
  ['user.mjs', IMPORTS, []],
  ['user.cjs', REQUIRES, []],
  ['old-user.cjs', REQUIRES, ['--no-experimental-require-module']],
])('figures are counted in %s', { timeout: LIMIT_MS }, async (name, imports, options) => {
  const file = join(folder, name);
  await writeFile(file, `${imports}${USE}`);
  const said = await printed(process.execPath, ['--no-warnings', ...options, file], folder);
  expect(said.trim()).toBe('true');
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

test('imports nothing but holdfast: what is optional is handed in', async () => {
  for (const format of ['esm', 'cjs']) {
    const program = await installedFile(`dist/${format}/index.js`);
    const imported = [...program.matchAll(/(?:from |require\(|import\()"([^"]+)"/g)].map(([, name]) => name);
    expect([...new Set(imported)].sort()).toEqual(['holdfast', 'node:diagnostics_channel']);
    const { sources } = JSON.parse(await installedFile(`dist/${format}/index.js.map`));
    for (const source of sources) expect(source).toMatch(/^\.\.\/\.\.\/src\/[\w/-]+\.ts$/);
  }
});

test('needs a holdfast of the same minor version, and the others only if they are used', async () => {
  const { version, peerDependencies, peerDependenciesMeta } = JSON.parse(await installedFile('package.json'));
  expect(peerDependencies.holdfast).toBe(`^${version}`);
  const optional = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional);
  expect(optional.sort()).toEqual(['@opentelemetry/api', 'prom-client']);
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
