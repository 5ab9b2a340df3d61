// The monitor but for its alerts, in the long form: every rule of the page in a browser, also on a fleet of real processes,
// pictures of every page and state, and every topology: `npm run test:monitor`. A few minutes. `npm test` has the short form,
// `npm run test:alerts` the alerts.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, run } from '../run.mjs';

const HOME = 'packages/monitor/test';

process.env['HOLDFAST_MONITOR_TESTS'] = 'long';
if (!run('scripts/setup/setup.mjs')) process.exit(1);
const files = readdirSync(join(ROOT, HOME)).filter((name) => name.endsWith('.test.ts'));
const isPassed = run('node_modules/vitest/vitest.mjs', [
  'run',
  `${HOME}/page`,
  `${HOME}/http`,
  ...files.map((name) => `${HOME}/${name}`),
  ...process.argv.slice(2),
]);
process.exitCode = isPassed ? 0 : 1;
