// What npm must have installed before anything here can run. Uses nothing but Node itself.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './run.mjs';

/**
 * @param {string} path
 * @returns {Record<string, { version?: string, optional?: boolean, peer?: boolean, link?: boolean }>}
 */
function lockedPackages(path) {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8')).packages;
}

/** Compares what npm installed with what is locked: times of files say nothing after a checkout. */
function hasDependencies() {
  if (!existsSync(join(ROOT, 'node_modules/.package-lock.json'))) return false;
  const installed = lockedPackages('node_modules/.package-lock.json');
  return Object.entries(lockedPackages('package-lock.json')).every(([path, { version, optional, link }]) => {
    if (!path.startsWith('node_modules/') || link) return true;
    // Optional packages for other platforms are locked and not installed.
    return installed[path] === undefined ? optional === true : installed[path].version === version;
  });
}

/** Nothing but what is locked: a lock file that `npm ci` refuses is to be mended, not gone around. */
function installDependencies() {
  return spawnSync('npm', ['ci'], { cwd: ROOT, stdio: 'inherit' }).status === 0;
}

/** Installs what is missing. False when npm could not. */
export function ensureDependencies() {
  return hasDependencies() || installDependencies();
}
