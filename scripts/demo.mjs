// The demo on a fresh clone: `npm run demo`. Needs nothing installed but Node. Arguments go to `holdfast demo`.
import { spawnSync } from 'node:child_process';
import { ensureDependencies } from './dependencies.mjs';
import { ROOT, run } from './run.mjs';

/** @param {string} message */
function fail(message) {
  console.error(message);
  process.exit(1);
}

if (!ensureDependencies()) fail('npm could not install the dependencies');
// Always: it takes two seconds, and nobody can tell an old build from a new one.
if (!run('scripts/build.mjs')) fail('the sources could not be compiled');
const command = ['packages/cli/dist/main.js', 'demo', ...process.argv.slice(2)];
const { status, signal } = spawnSync(process.execPath, command, { cwd: ROOT, stdio: 'inherit' });
process.exitCode = status ?? (signal === 'SIGINT' ? 130 : 1);
