// Makes a compiled package small: `node scripts/slim.mjs packages/holdfast/dist index testing/index`. Comments and
// spaces go from the programs, and declarations go that nobody can reach from the entrances. What is left of the
// declarations keeps its comments: they are what an editor shows.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { transformSync } from 'esbuild';

const [folder = '', ...entrances] = process.argv.slice(2);
if (folder === '' || entrances.length === 0) {
  throw new Error('expected a folder and at least one entrance');
}

/** An error is called what its class is called, so those keep their names. */
const KEEPS_NAMES = /(^|[\\/])errors\.js$/;

/** @param {string} ending */
function files(ending) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith(ending));
}

for (const path of files('.js')) {
  const file = join(folder, path);
  const { code } = transformSync(readFileSync(file, 'utf8'), {
    format: 'esm',
    target: 'es2023',
    minifyWhitespace: true,
    minifySyntax: true,
    minifyIdentifiers: !KEEPS_NAMES.test(path),
  });
  writeFileSync(file, code);
}

/** @type {Set<string>} */
const reached = new Set();

/** @param {string} path */
function reach(path) {
  if (reached.has(path)) return;
  reached.add(path);
  const text = readFileSync(join(folder, path), 'utf8');
  for (const [, named = ''] of text.matchAll(/(?:from |import\()['"](\.[^'"]*)\.[jt]s['"]/g)) {
    reach(normalize(join(dirname(path), `${named}.d.ts`)));
  }
}

for (const entrance of entrances) reach(`${entrance}.d.ts`);
for (const path of files('.d.ts')) if (!reached.has(path)) rmSync(join(folder, path));
