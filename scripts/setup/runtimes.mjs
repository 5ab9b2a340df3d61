// Downloads the runtimes of the matrix from npm: `npm run runtimes`, or `npm run runtimes node` or `node-22` for some. Prints
// which ones are unavailable. That is a failure where `CI` is set; elsewhere the matrix uses those that are there.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isCi } from '../ci.mjs';
import { ROOT } from '../run.mjs';

const FOLDER = process.env['HOLDFAST_RUNTIMES'] ?? join(ROOT, '.cache/runtimes');
const STEP_LIMIT_MS = 300_000;

/** Without these, Deno asks for every permission and does not look for packages in `node_modules`. */
const DENO_ARGS = ['run', '--allow-all', '--node-modules-dir=manual', '--quiet'];

/** Packages of the npm registry. `args` stand before the name of a file to run. */
const WANTED = [
  { product: 'Node', name: 'node', version: '20.20.2', args: [] },
  { product: 'Node', name: 'node', version: '22.23.3', args: [] },
  { product: 'Node', name: 'node', version: '24.21.0', args: [] },
  { product: 'Node', name: 'node', version: '26.10.0', args: [] },
  { product: 'Bun', name: 'bun', version: '1.4.4', args: ['run'] },
  { product: 'Deno', name: 'deno', version: '2.9.6', args: DENO_ARGS },
];

/** Downloads a runtime unless it is there. Returns its title, or why it is unavailable. */
function fetched(/** @type {typeof WANTED[number]} */ { product, name, version, args }) {
  const folder = join(FOLDER, `${name}-${version}`);
  const told = join(folder, 'runtime.json');
  if (existsSync(told)) return 'there already';
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const options = { cwd: folder, encoding: /** @type {const} */ ('utf8'), timeout: STEP_LIMIT_MS };
  const install = ['install', '--no-audit', '--no-fund', `${name}@${version}`];
  const { status, stderr } = spawnSync('npm', install, options);
  if (status !== 0) return `could not be had (${(stderr ?? '').trim().split('\n').at(-1)})`;
  const program = join(folder, 'node_modules/.bin', name);
  const said = spawnSync(program, ['--version'], options).stdout ?? '';
  if (!said.includes(version)) return `does not run here (it says ${JSON.stringify(said)})`;
  const runtime = { title: `${product} ${version}`, command: [program, ...args] };
  writeFileSync(told, `${JSON.stringify(runtime, null, 2)}\n`);
  return JSON.parse(readFileSync(told, 'utf8')).title;
}

mkdirSync(FOLDER, { recursive: true });
const names = process.argv.slice(2);
const asked = WANTED.filter(
  ({ name, version }) =>
    names.length === 0 || names.includes(name) || names.includes(`${name}-${version.split('.')[0]}`),
);
for (const wanted of asked) {
  console.log(`${wanted.name} ${wanted.version}: ${fetched(wanted)}`);
  const isThere = existsSync(join(FOLDER, `${wanted.name}-${wanted.version}`, 'runtime.json'));
  if (!isThere && isCi()) process.exitCode = 1;
}
