// Installs packages of Debian or Ubuntu without starting the services in them. Imports only Node's modules.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';

/** Debian runs this file, if it exists, to decide whether a newly installed service may start. Exit code 101: no. */
const SERVICE_POLICY = '/usr/sbin/policy-rc.d';

/** Another installation may be under way on the same machine. */
const LOCK_WAIT_S = 300;

export function canInstall() {
  return process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
}

/** @param {readonly string[]} packages */
export function installDebian(packages) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  /** @param {readonly string[]} args */
  const apt = (args) =>
    spawnSync('apt-get', ['-o', `DPkg::Lock::Timeout=${LOCK_WAIT_S}`, ...args], { stdio: 'inherit', env });
  const hadPolicy = existsSync(SERVICE_POLICY);
  if (!hadPolicy) writeFileSync(SERVICE_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    apt(['update']);
    apt(['install', '-y', '--no-install-recommends', ...packages]);
  } finally {
    if (!hadPolicy) rmSync(SERVICE_POLICY, { force: true });
  }
}
