// The tests that need no server: `npm run test:unit`. They run on every system that Node runs on.
import { run } from '../run.mjs';

const FOLDERS = [
  'keys',
  'locking',
  'lua-toolchain',
  'options',
  'primitives/leader',
  'primitives/schedule',
  'runtime',
  'telemetry',
  'topologies',
  'types',
];

const tests = FOLDERS.map((folder) => `packages/holdfast/test/${folder}/`);
const isTested = run('node_modules/vitest/vitest.mjs', ['run', ...tests, ...process.argv.slice(2)]);
process.exitCode = isTested ? 0 : 1;
