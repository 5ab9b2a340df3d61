// The monitor but for its alerts, in the long form: every rule of the page in a browser, also on a fleet of real processes, and
// every topology: `npm run test:monitor`. A few minutes. `npm test` has the short form, `npm run test:alerts` the alerts.
import { run } from '../run.mjs';

process.env['HOLDFAST_MONITOR_TESTS'] = 'long';
if (!run('scripts/setup/setup.mjs')) process.exit(1);
const isPassed = run('node_modules/vitest/vitest.mjs', [
  'run',
  'packages/monitor/test',
  '--exclude',
  'packages/monitor/test/alerts/**',
  ...process.argv.slice(2),
]);
process.exitCode = isPassed ? 0 : 1;
