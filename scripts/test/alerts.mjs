// Every alert rule on real servers, also those that wait for windows of five minutes, with receivers that refuse, hang, answer
// 429 and come back, and many takeovers with crashes: `npm run test:alerts`. Takes about twenty minutes. `npm test` has the
// short form.
import { run } from '../run.mjs';

process.env['HOLDFAST_MONITOR_TESTS'] = 'long';
process.env['HOLDFAST_TAKEOVERS'] ??= '200';
if (!run('scripts/setup/setup.mjs')) process.exit(1);
const isPassed = run('node_modules/vitest/vitest.mjs', [
  'run',
  'packages/monitor/test/alerts',
  ...process.argv.slice(2),
]);
process.exitCode = isPassed ? 0 : 1;
