// Prepares a fresh clone for the tests: npm packages, and a redis-server that is new enough. Where `CI` is set, also what
// some tests can do without on a person's machine. Imports only Node's modules.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isCi } from '../ci.mjs';
import { run } from '../run.mjs';
import { canInstall, installDebian } from './debian.mjs';
import { ensureDependencies } from './dependencies.mjs';

const REDIS_MAJOR_MIN = 7;

/**
 * What some tests can do without on a person's machine: the programs by which it is known to be there, and the packages
 * of Debian and Ubuntu that have it. Debian puts PostgreSQL into a folder of its own, a subfolder for each version.
 */
const CI_TOOLS = [
  { found: ['/usr/lib/postgresql', 'postgres'], packages: ['postgresql'] },
  { found: ['/usr/sbin/mariadbd', 'mariadbd'], packages: ['mariadb-server'] },
  {
    found: ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'],
    packages: ['chromium'],
  },
  { found: ['promtool'], packages: ['prometheus'] },
  { found: ['prometheus-alertmanager'], packages: ['prometheus-alertmanager'] },
];

function redisMajor() {
  const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  return Number(/v=(\d+)\./.exec(stdout ?? '')?.[1] ?? 0);
}

/** @param {string} program a path, or a name on the PATH */
function isThere(program) {
  if (program.startsWith('/')) return existsSync(program);
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;
}

/** @param {string} message */
function fail(message) {
  console.error(message);
  process.exit(1);
}

if (!ensureDependencies()) fail('npm could not install the dependencies');

const wanted = redisMajor() < REDIS_MAJOR_MIN ? ['redis-server'] : [];
if (isCi())
  wanted.push(...CI_TOOLS.filter(({ found }) => !found.some(isThere)).flatMap(({ packages }) => packages));
if (wanted.length > 0 && canInstall()) installDebian(wanted);
if (redisMajor() < REDIS_MAJOR_MIN) {
  fail(
    `The tests need redis-server ${REDIS_MAJOR_MIN}.0 or newer on PATH: see https://redis.io/docs/latest/operate/oss_and_stack/install/`,
  );
}
// One runtime: the oldest supported line of Node that has `node:sqlite`. The tests say what is left out without it.
if (isCi() && Number.parseInt(process.versions.node, 10) < 22) run('scripts/setup/runtimes.mjs', ['node-22']);
