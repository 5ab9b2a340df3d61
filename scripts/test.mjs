// Everything: `npm test`. The last line says how many tests passed and failed.
import { run } from './run.mjs';

if (!run('scripts/setup.mjs')) process.exit(1);
// Quickly had, and one row of the contract is asked of it. Without it that row is left out, which is said here; where
// `CI` is set, that is a failure.
const isFetched = run('scripts/servers.mjs', ['valkey-8.0']);
// The tests run even when a check has failed: a wrong indentation should not hide a broken lock.
const isChecked = run('scripts/check.mjs');
const isTested = run('node_modules/vitest/vitest.mjs', ['run', ...process.argv.slice(2)]);
process.exitCode = isFetched && isChecked && isTested ? 0 : 1;
