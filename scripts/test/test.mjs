// Checks and all tests: `npm test`. The last line says how many tests passed and failed.
import { run } from '../run.mjs';

if (!run('scripts/setup/setup.mjs')) process.exit(1);
// One row of the contract runs on this server. If the server is unavailable, that row is left out with a message; where
// `CI` is set, that is a failure.
const isFetched = run('scripts/setup/servers.mjs', ['valkey-8.0']);
// The tests run even if a check failed: a wrong indentation must not hide a broken lock.
const isChecked = run('scripts/check/check.mjs');
const isTested = run('node_modules/vitest/vitest.mjs', ['run', ...process.argv.slice(2)]);
process.exitCode = isFetched && isChecked && isTested ? 0 : 1;
