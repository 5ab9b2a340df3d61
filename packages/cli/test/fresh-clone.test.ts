/**
 * `npm run demo` in a clean folder, with nothing installed before but Node: no packages, no build, no Redis. In `npm run test:compat`:
 * it installs everything anew.
 */
import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  makeGuardedFolder,
  removeGuardedFolder,
} from '../../holdfast/test/support/processes/process-guard.ts';
import { sqliteNode } from '../../sql/test/support/sqlite-node.ts';
import { ROOT } from './support/built-cli.ts';
import { environmentFor } from './support/holdfast.ts';

/** npm has to fetch everything, and on a busy machine it takes its time. */
const LIMIT_MS = 900_000;
const DEMO = [
  'run',
  'demo',
  '--silent',
  '--',
  '--stock',
  '100',
  '--buyers',
  '10',
  '--seconds',
  '60',
  '--no-chaos',
];
const sqlite = sqliteNode();
/** Whose release the tests run on. */
const MAJOR = Number.parseInt(process.versions.node, 10);

let clone = '';
let tools = '';
let sqliteTools = '';

beforeAll(() => {
  clone = makeGuardedFolder('holdfast-clone-');
  tools = makeGuardedFolder('holdfast-tools-');
  const git = ['-C', ROOT, 'ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  const files = execFileSync('git', git, { encoding: 'utf8' }).split('\0');
  for (const file of files.filter((name) => name !== '')) {
    mkdirSync(dirname(join(clone, file)), { recursive: true });
    copyFileSync(join(ROOT, file), join(clone, file));
  }
  linkTools(tools, process.execPath);
  sqliteTools = makeGuardedFolder('holdfast-tools-');
  linkTools(sqliteTools, sqlite ?? process.execPath);
}, LIMIT_MS);

afterAll(() => {
  removeGuardedFolder(clone);
  removeGuardedFolder(tools);
  removeGuardedFolder(sqliteTools);
}, LIMIT_MS);

/** What npm and the demo call, and nothing else: no Redis. */
const TOOLS = ['npm', 'sh', 'env', 'sleep', 'uname'];

function linkTools(to: string, node: string): void {
  symlinkSync(node, join(to, 'node'));
  for (const name of TOOLS) {
    const folders = (process.env['PATH'] ?? '').split(':');
    const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
    if (found === undefined) throw new Error(`expected ${name} on PATH, found none`);
    symlinkSync(found, join(to, name));
  }
}

function play(path: string, ...options: string[]): SpawnSyncReturns<string> {
  const env = environmentFor({ PATH: path });
  return spawnSync('npm', [...DEMO, ...options], { cwd: clone, env, encoding: 'utf8', timeout: LIMIT_MS });
}

test('installs, builds and plays, without redis-server', { timeout: LIMIT_MS }, () => {
  expect(spawnSync('redis-server', ['--version'], { env: { PATH: tools } }).error).toBeDefined();
  const demo = play(tools);
  expect(demo.stdout, demo.stderr).toMatch(/Round 2: with the lock\n {2}exact: 100 of 100 sold/);
  expect(demo.stdout).toMatch(
    /^3 shops, 100 items, 10 buyers at a time, on a Redis of its own\n\nRound 1: no lock\n/m,
  );
  // In a pipe it is plain lines.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what must not be there
  expect(demo.stdout).not.toMatch(/[\u001b\r]/);
  expect(demo.status).toBe(0);

  const packed = spawnSync('npm', ['pack', '--dry-run', '--json', '-w', 'packages/cli'], {
    cwd: clone,
    env: environmentFor(),
    encoding: 'utf8',
  });
  for (const file of [
    'dist/main.js',
    'dist/inventory/main.js',
    'schemas/ls.schema.json',
    'README.md',
    'LICENSE',
  ]) {
    expect(packed.stdout, packed.stderr).toContain(`"${file}"`);
  }
  for (const [file, source] of [
    ['dist/main.js', 'packages/cli/src/main.ts'],
    ['dist/inventory/main.js', 'examples/inventory/main.ts'],
  ] as const) {
    const map = JSON.parse(readFileSync(join(clone, 'packages/cli', `${file}.map`), 'utf8'));
    expect(map.sourcesContent).toEqual([readFileSync(join(ROOT, source), 'utf8')]);
  }
});

test.runIf(sqlite !== null)('plays with SQLite as the stock', { timeout: LIMIT_MS }, () => {
  const demo = play(sqliteTools, '--sql');
  expect(demo.stdout, demo.stderr).toMatch(/Round 2: with the lock\n {2}exact: 100 of 100 sold/);
  expect(demo.status).toBe(0);
});

test.runIf(MAJOR < 22)(
  'says what is missing on a Node without SQLite, and exits with 64',
  { timeout: LIMIT_MS },
  () => {
    const demo = play(tools, '--sql');
    expect(demo.stderr).toContain(
      `expected a Node with SQLite, 22.13 or newer; this is ${process.versions.node}`,
    );
    expect(demo.status).toBe(64);
  },
);
