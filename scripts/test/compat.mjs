// The packages in their users' environments: `npm run test:compat`. Jest on several versions of Node, and old and new
// compilers with every module format; the demo in a clean folder. `npm test` has the library's own package only.
import { run } from '../run.mjs';

process.env['HOLDFAST_MATRIX'] = '1';
if (!run('scripts/setup/setup.mjs')) process.exit(1);
const isFetched = run('scripts/setup/runtimes.mjs', ['node']);
const tests = [
  'holdfast/test/compat/',
  'holdfast/test/package/',
  'monitor/test/package/',
  'sql/test/package/',
  'telemetry/test/package/',
  'testing/test/package/',
  'cli/test/fresh-clone',
].map((path) => `packages/${path}`);
const isTested = run('node_modules/vitest/vitest.mjs', ['run', ...tests, ...process.argv.slice(2)]);
process.exitCode = isFetched && isTested ? 0 : 1;
