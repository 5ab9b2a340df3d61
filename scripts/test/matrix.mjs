// The whole matrix: `npm run test:matrix`. Every client, setting and kind of lock on every server that `npm run servers`
// could download. Takes long; `npm test` checks every rule once.
import { run } from '../run.mjs';

process.env['HOLDFAST_MATRIX'] = '1';
if (!run('scripts/setup/setup.mjs')) process.exit(1);
const isFetched = run('scripts/setup/servers.mjs') && run('scripts/setup/runtimes.mjs');
const isTested = run('node_modules/vitest/vitest.mjs', ['run', ...process.argv.slice(2)]);
process.exitCode = isFetched && isTested ? 0 : 1;
