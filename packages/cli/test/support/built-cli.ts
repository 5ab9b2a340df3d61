/**
 * The command line as users get it: compiled, installed as a package beside the library. Processes that are compiled
 * once start five times as fast as those that compile themselves, and this suite starts hundreds.
 *
 * One build for one state of the sources, shared by all test files.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT: string = resolve(import.meta.dirname, '../../../..');
const CACHE = join(ROOT, 'node_modules/.cache/holdfast-cli');
const PACKAGER = join(ROOT, 'scripts/build/package.mjs');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const SOURCES = [
  'packages/holdfast/src',
  'packages/sql/src',
  'packages/testing/src',
  'packages/monitor/src',
  'packages/monitor/page',
  'packages/cli/src',
  'packages/cli/schemas',
  'examples/inventory',
];
const MANIFESTS = [
  'packages/holdfast/package.json',
  'packages/sql/package.json',
  'packages/testing/package.json',
  'packages/monitor/package.json',
  'packages/cli/package.json',
  'packages/cli/tsconfig.build.json',
  'scripts/build/bundle.mjs',
  'tsconfig.base.json',
];
/** A build that nobody has asked for since is of sources that are gone. */
const OLD_MS = 60 * 60 * 1000;

function builtMain(): string {
  const folder = join(CACHE, hashSources());
  if (!existsSync(folder)) build(folder);
  return join(folder, 'node_modules/holdfast-cli/dist/main.js');
}

function hashSources(): string {
  const hash = createHash('sha256');
  const files = SOURCES.filter((folder) => existsSync(join(ROOT, folder))).flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((file) => join(folder, file))
      .sort(),
  );
  for (const file of [...files, ...MANIFESTS]) {
    const path = join(ROOT, file);
    if (statSync(path).isFile()) hash.update(`${file}\n`).update(readFileSync(path));
  }
  return hash.digest('hex').slice(0, 16);
}

function build(folder: string): void {
  removeOld();
  // Another test file may be at it at the same time: whoever is first puts it in place.
  const draft = `${folder}-${process.pid}`;
  const cli = join(draft, 'node_modules/holdfast-cli');
  mkdirSync(cli, { recursive: true });
  cpSync(join(ROOT, 'packages/cli/package.json'), join(cli, 'package.json'));
  bundle('packages/holdfast', join(draft, 'node_modules/holdfast'));
  bundle('packages/sql', join(draft, 'node_modules/holdfast-sql'));
  bundle('packages/testing', join(draft, 'node_modules/holdfast-testing'));
  bundle('packages/monitor', join(draft, 'node_modules/holdfast-monitor'));
  // What npm could not put beside the packages of others: they want another version of it.
  const own = join(ROOT, 'packages/cli/node_modules');
  if (existsSync(own)) symlinkSync(own, join(cli, 'node_modules'));
  if (existsSync(join(ROOT, 'packages/cli/schemas'))) {
    cpSync(join(ROOT, 'packages/cli/schemas'), join(cli, 'schemas'), { recursive: true });
  }
  compile('packages/cli/tsconfig.build.json', join(cli, 'dist'));
  if (existsSync(join(ROOT, 'examples/inventory'))) {
    compile('packages/cli/tsconfig.inventory.json', join(cli, 'dist/inventory'));
  }
  try {
    renameSync(draft, folder);
  } catch {
    rmSync(draft, { recursive: true, force: true });
  }
}

function bundle(home: string, target: string): void {
  mkdirSync(target, { recursive: true });
  cpSync(join(ROOT, home, 'package.json'), join(target, 'package.json'));
  const { status, stderr } = spawnSync(process.execPath, [PACKAGER, home, target, '--code'], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${home} could not be built:\n${stderr}`);
}

/** Types are the business of `npm run check`; here the code has to come out. */
function compile(project: string, outDir: string): void {
  const args = [TSC, '-p', join(ROOT, project), '--outDir', outDir];
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (!existsSync(outDir)) throw new Error(`${project} could not be compiled:\n${stdout}`);
}

function removeOld(): void {
  mkdirSync(CACHE, { recursive: true });
  for (const name of readdirSync(CACHE)) {
    const folder = join(CACHE, name);
    const ageMs = Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (ageMs > OLD_MS) rmSync(folder, { recursive: true, force: true });
  }
}

/** What `holdfast` runs. Built when a test file is loaded: a build in the middle of a test would cost leases. */
export const MAIN: string = builtMain();
