// Prepares a fresh clone for the tests: npm packages, and a redis-server that is new enough. Where `CI` is set, also the
// databases and the Node with SQLite that the tests of holdfast-sql need. Imports only Node's modules.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { isCi } from '../ci.mjs';
import { ROOT, run as runScript } from '../run.mjs';
import { ensureDependencies } from './dependencies.mjs';

const REDIS_MAJOR_MIN = 7;
/** Debian runs this file, if it exists, to decide whether a newly installed service may start. Exit code 101: no. */
const SERVICE_POLICY = '/usr/sbin/policy-rc.d';

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit', env });
  return status === 0;
}

function redisMajor() {
  const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  return Number(/v=(\d+)\./.exec(stdout ?? '')?.[1] ?? 0);
}

/** Debian puts PostgreSQL into a folder of its own, a subfolder for each version. */
function hasPostgresql() {
  return existsSync('/usr/lib/postgresql') || spawnSync('postgres', ['--version']).status === 0;
}

function hasMariadb() {
  return existsSync('/usr/sbin/mariadbd') || spawnSync('mariadbd', ['--version']).status === 0;
}

/** Packages of Debian and Ubuntu that are missing. A person's machine needs no database: those tests are left out there. */
function missingPackages() {
  return [
    ...(redisMajor() < REDIS_MAJOR_MIN ? ['redis-server'] : []),
    ...(isCi() && !hasPostgresql() ? ['postgresql'] : []),
    ...(isCi() && !hasMariadb() ? ['mariadb-server'] : []),
  ];
}

/** @param {string[]} packages */
function install(packages) {
  const hadPolicy = existsSync(SERVICE_POLICY);
  if (!hadPolicy) writeFileSync(SERVICE_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    run('apt-get', ['update']);
    run('apt-get', ['install', '-y', '--no-install-recommends', ...packages]);
  } finally {
    if (!hadPolicy) rmSync(SERVICE_POLICY);
  }
}

/** @param {string} message */
function fail(message) {
  console.error(message);
  process.exit(1);
}

if (!ensureDependencies()) fail('npm could not install the dependencies');

const isRoot = process.getuid?.() === 0;
const missing = missingPackages();
if (missing.length > 0 && isRoot && existsSync('/usr/bin/apt-get')) install(missing);
if (redisMajor() < REDIS_MAJOR_MIN) {
  fail(
    `The tests need redis-server ${REDIS_MAJOR_MIN}.0 or newer on PATH: see https://redis.io/docs/latest/operate/oss_and_stack/install/`,
  );
}
// One runtime: the oldest supported line of Node that has `node:sqlite`. The tests say what is left out without it.
if (isCi() && Number.parseInt(process.versions.node, 10) < 22)
  runScript('scripts/setup/runtimes.mjs', ['node-22']);
