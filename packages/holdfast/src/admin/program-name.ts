/** What a program is called that did not say so itself: the name of its package, or of its script. */
import { readFileSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { NAME_BYTES_MAX } from '../keys/name.ts';

const INSTALLED: string = `${sep}node_modules${sep}`;

/**
 * The name in the nearest `package.json` that has one, from the folder of the script upwards, or else the file name of
 * the script. A script that was installed (`next`, `jest`, a process manager) stands for the package that installed it.
 */
export function programName(script: string | undefined = process.argv[1]): string {
  if (script === undefined || script === '') return basename(process.execPath);
  const installed = script.indexOf(INSTALLED);
  const folder = installed === -1 ? dirname(script) : script.slice(0, installed);
  return packageName(folder) ?? (usable(basename(script)) ? basename(script) : basename(process.execPath));
}

function packageName(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    const name = nameIn(join(at, 'package.json'));
    if (name !== null) return name;
    if (at === dirname(at)) return null;
  }
}

/** Null where there is no such file, where it may not be read, and where it says no name: `{"type": "module"}`. */
function nameIn(path: string): string | null {
  try {
    const found: unknown = JSON.parse(readFileSync(path, 'utf8'));
    const name = typeof found === 'object' && found !== null && 'name' in found ? found.name : null;
    return typeof name === 'string' && usable(name) ? name : null;
  } catch {
    return null;
  }
}

/** Whether the record of a session can have it. */
function usable(name: string): boolean {
  return name !== '' && name.isWellFormed() && Buffer.byteLength(name) <= NAME_BYTES_MAX;
}
