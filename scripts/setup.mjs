// Makes a fresh clone ready to test: dependencies, and a redis-server new enough. Uses nothing but Node itself.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { ensureDependencies } from './dependencies.mjs';
import { ROOT } from './run.mjs';

const REDIS_MAJOR_MIN = 7;
/** Debian asks this file, if there is one, whether a freshly installed service may start. 101 is no. */
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

function installRedis() {
  const hadPolicy = existsSync(SERVICE_POLICY);
  if (!hadPolicy) writeFileSync(SERVICE_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    run('apt-get', ['update']);
    run('apt-get', ['install', '-y', 'redis-server']);
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
if (redisMajor() < REDIS_MAJOR_MIN && isRoot && existsSync('/usr/bin/apt-get')) installRedis();
if (redisMajor() < REDIS_MAJOR_MIN) {
  fail(
    `The tests need redis-server ${REDIS_MAJOR_MIN}.0 or newer on PATH: see https://redis.io/docs/latest/operate/oss_and_stack/install/`,
  );
}
