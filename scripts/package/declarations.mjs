// The declarations of a package: those that can be reached from its entry, once for each kind of module. They are the
// same, but a compiler takes what it finds beside an ES module for one, and refuses it to a CommonJS file.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { run } from '../run.mjs';

const SPECIFIER = /(?<before>(?:from |import\()['"])(?<name>\.[^'"]*)\.ts(?=['"])/g;

/**
 * The declarations that can be reached from this one, with their texts.
 *
 * @param {string} folder
 * @param {string} path
 * @param {Map<string, string>} reached
 */
function reach(folder, path, reached) {
  if (reached.has(path)) return;
  const text = readFileSync(join(folder, path), 'utf8');
  reached.set(path, text.replaceAll(SPECIFIER, '$<before>$<name>.js'));
  for (const { groups } of text.matchAll(SPECIFIER)) {
    reach(folder, normalize(join(dirname(path), `${groups?.['name']}.d.ts`)), reached);
  }
}

/**
 * False when the sources do not compile.
 *
 * @param {string} project the file of the compiler's settings
 * @param {string} source the folder with the sources, from the compiler's `rootDir`: a package is compiled together with
 *   the sources of those that it imports
 * @param {string} target the folder of the package
 */
export function declare(project, source, target) {
  mkdirSync(target, { recursive: true });
  const draft = mkdtempSync(join(target, '.declarations-'));
  try {
    const args = ['-p', project, '--emitDeclarationOnly', '--outDir', draft];
    if (!run('node_modules/typescript/bin/tsc', args)) return false;
    /** @type {Map<string, string>} */
    const reached = new Map();
    reach(join(draft, source), 'index.d.ts', reached);
    for (const [path, text] of reached) {
      for (const format of ['esm', 'cjs']) {
        const file = join(target, 'dist', format, path);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, text);
      }
    }
    return true;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
