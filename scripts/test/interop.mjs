// holdfast beside other libraries on the same names: `npm run test:interop`, or a few minutes of it with `-- --quick`.
// Real Redisson, redsync, redis-py and node-redlock, each in a process of its own.
import { run } from '../run.mjs';

const args = process.argv.slice(2).filter((arg) => arg !== '--quick');
if (process.argv.includes('--quick')) process.env['HOLDFAST_INTEROP_QUICK'] = '1';
if (!run('scripts/setup/setup.mjs')) process.exit(1);
const isTested = run('node_modules/vitest/vitest.mjs', [
  'run',
  '--config',
  'interop/vitest.config.ts',
  ...args,
]);
process.exitCode = isTested ? 0 : 1;
