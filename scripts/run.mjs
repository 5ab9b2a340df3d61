// How the scripts here start each other.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Runs a JavaScript file of this repository with this Node, in its root. True when it ended well.
 *
 * @param {string} script
 * @param {string[]} args
 * @param {string[]} nodeOptions
 */
export function run(script, args = [], nodeOptions = []) {
  const command = [...nodeOptions, join(ROOT, script), ...args];
  return spawnSync(process.execPath, command, { cwd: ROOT, stdio: 'inherit' }).status === 0;
}
