// Scripts start each other through `run`.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Runs a script of this repository with this version of Node, in the root folder. True when it exits with 0.
 *
 * @param {string} script
 * @param {string[]} args
 * @param {string[]} nodeOptions
 */
export function run(script, args = [], nodeOptions = []) {
  const command = [...nodeOptions, join(ROOT, script), ...args];
  return spawnSync(process.execPath, command, { cwd: ROOT, stdio: 'inherit' }).status === 0;
}
