// The demo on a fresh clone: `npm run demo`. Needs only Node. Arguments are passed on to `holdfast demo`.
import { spawnSync } from 'node:child_process';
import { ROOT, run } from './run.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';

/** @param {string} message */
function fail(message) {
  console.error(message);
  process.exit(1);
}

if (!ensureDependencies()) fail('npm could not install the dependencies');
// Always built: a build takes two seconds, and an old build looks like a new one.
if (!run('scripts/build/build.mjs')) fail('the sources could not be compiled');
const command = ['packages/cli/dist/main.js', 'demo', ...process.argv.slice(2)];
const { status, signal } = spawnSync(process.execPath, command, { cwd: ROOT, stdio: 'inherit' });
process.exitCode = status ?? (signal === 'SIGINT' ? 130 : 1);
