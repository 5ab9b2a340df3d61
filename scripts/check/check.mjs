// All checks that need no server: `npm run check`.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ROOT } from '../run.mjs';

const BIN = join(ROOT, 'node_modules/.bin');

const TYPE_PROJECTS = [
  'packages/holdfast/tsconfig.json',
  'packages/holdfast/tsconfig.build.json',
  'packages/testing/tsconfig.json',
  'packages/testing/tsconfig.build.json',
  'packages/cli/tsconfig.json',
  'packages/sql/tsconfig.json',
  'packages/sql/tsconfig.build.json',
  'packages/telemetry/tsconfig.json',
  'packages/telemetry/tsconfig.build.json',
  'packages/monitor/tsconfig.json',
  'packages/monitor/tsconfig.build.json',
  'packages/monitor/page/tsconfig.json',
  'packages/monitor/test/page/tsconfig.json',
  'scripts/tsconfig.json',
  'bench/tsconfig.json',
  'model/tsconfig.json',
  'interop/tsconfig.json',
];

const LOCK_FILES = [
  'package-lock.json',
  'packages/holdfast/test/compat/tools/package-lock.json',
  'packages/sql/test/tools/package-lock.json',
];

/** @type {ReadonlyArray<readonly [name: string, command: string, args: readonly string[]]>} */
const STEPS = [
  ['format and lint', 'biome', ['check', '--error-on-warnings', '--max-diagnostics=none']],
  ...TYPE_PROJECTS.filter((project) => existsSync(join(ROOT, project))).map(
    (project) => /** @type {const} */ ([`types of ${project}`, 'tsc', ['-p', project, '--noEmit']]),
  ),
  ['unused', 'knip', []],
  ['surface', 'tsx', ['scripts/check/surface.ts']],
  ['Lua headers', 'tsx', ['scripts/lua/main.ts', '--check']],
  ...LOCK_FILES.map(
    (file) =>
      /** @type {const} */ ([`lock file ${file}`, process.execPath, ['scripts/check/lock-file.mjs', file]]),
  ),
];

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @returns {Promise<{ isPassed: boolean, output: string }>}
 */
function run(command, args) {
  return new Promise((settle) => {
    let output = '';
    const child = spawn(resolve(BIN, command), args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk) => {
      output += chunk;
    });
    child.on('error', (error) => settle({ isPassed: false, output: `${output}${error.message}\n` }));
    child.on('close', (code) => settle({ isPassed: code === 0, output }));
  });
}

const results = await Promise.all(
  STEPS.map(async ([name, command, args]) => {
    const startedAt = performance.now();
    const { isPassed, output } = await run(command, args);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    if (!isPassed) process.stdout.write(output);
    console.log(`${isPassed ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`);
    return isPassed;
  }),
);
if (results.includes(false)) process.exitCode = 1;
