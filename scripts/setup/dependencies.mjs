// Installs the npm packages that the other scripts need. Imports only Node's modules.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../run.mjs';

/**
 * @param {string} path
 * @returns {Record<string, { version?: string, optional?: boolean, peer?: boolean, link?: boolean }>}
 */
function lockedPackages(path) {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8')).packages;
}

/** Compares the installed versions with the locked ones: after a checkout, modification times say nothing. */
function hasDependencies() {
  if (!existsSync(join(ROOT, 'node_modules/.package-lock.json'))) return false;
  const installed = lockedPackages('node_modules/.package-lock.json');
  return Object.entries(lockedPackages('package-lock.json')).every(([path, { version, optional, link }]) => {
    if (!path.startsWith('node_modules/') || link) return true;
    // Optional packages of other platforms are locked but not installed.
    return installed[path] === undefined ? optional === true : installed[path].version === version;
  });
}

/** `npm ci` only: a lock file that it refuses must be mended, not bypassed. */
function installDependencies() {
  return spawnSync('npm', ['ci'], { cwd: ROOT, stdio: 'inherit' }).status === 0;
}

/** Installs the packages unless they are there. False when npm failed. */
export function ensureDependencies() {
  return hasDependencies() || installDependencies();
}
