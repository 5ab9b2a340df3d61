// Prepares a fresh clone for the tests: npm packages, and a redis-server that is new enough. Where `CI` is set, also what
// some tests can do without on a person's machine. Imports only Node's modules.
import { spawnSync } from 'node:child_process';
import { isCi } from '../ci.mjs';
import { canInstall, installDebian } from './debian.mjs';
import { ensureDependencies } from './dependencies.mjs';

const REDIS_MAJOR_MIN = 7;

/** Programs that only CI must have, and the packages of Debian that have them. */
const CI_TOOLS = [
  { program: 'chromium', packages: ['chromium'] },
  { program: 'promtool', packages: ['prometheus'] },
  { program: 'prometheus-alertmanager', packages: ['prometheus-alertmanager'] },
];

function redisMajor() {
  const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  return Number(/v=(\d+)\./.exec(stdout ?? '')?.[1] ?? 0);
}

/** @param {string} program */
function isThere(program) {
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
  wanted.push(...CI_TOOLS.filter(({ program }) => !isThere(program)).flatMap(({ packages }) => packages));
if (wanted.length > 0 && canInstall()) installDebian(wanted);
if (redisMajor() < REDIS_MAJOR_MIN) {
  fail(
    `The tests need redis-server ${REDIS_MAJOR_MIN}.0 or newer on PATH: see https://redis.io/docs/latest/operate/oss_and_stack/install/`,
  );
}
