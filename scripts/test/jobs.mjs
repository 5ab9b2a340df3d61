// Replicas of a job with wrong clocks, killed and restarted at random, for two minutes or as many seconds as are named:
// `npm run test:jobs -- 600`. `npm test` has a few seconds of it.
import { run } from '../run.mjs';

const [seconds = '120'] = process.argv.slice(2);
process.env['HOLDFAST_JOBS_SECONDS'] = seconds;
const isTested = run('node_modules/vitest/vitest.mjs', [
  'run',
  'packages/holdfast/test/process/jobs/crowd.test.ts',
]);
process.exitCode = isTested ? 0 : 1;
