// The type declarations of a package: those that its entries import, once for each module format. Both copies are the
// same, but a compiler takes declarations beside an ES module for an ES module, and refuses them to a CommonJS file.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { run } from '../run.mjs';

const SPECIFIER = /(?<before>(?:from |import\()['"])(?<name>\.[^'"]*)\.ts(?=['"])/g;

/**
 * Collects a declaration file and everything it imports, with their texts.
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
 * @param {string} project the path of a tsconfig file
 * @param {string} source the folder with the sources, from the compiler's `rootDir`: a package is compiled together with
 *   the sources of the packages that it imports
 * @param {string} target the folder of the package
 * @param {readonly string[]} entries the names of its entries
 */
export function declare(project, source, target, entries) {
  mkdirSync(target, { recursive: true });
  const draft = mkdtempSync(join(target, '.declarations-'));
  try {
    const args = ['-p', project, '--emitDeclarationOnly', '--outDir', draft];
    if (!run('node_modules/typescript/bin/tsc', args)) return false;
    /** @type {Map<string, string>} */
    const reached = new Map();
    for (const entry of entries) reach(join(draft, source), `${entry}.d.ts`, reached);
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
