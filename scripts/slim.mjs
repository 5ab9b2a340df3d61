// Makes a compiled package small: `node scripts/slim.mjs packages/holdfast/dist index testing/index`. Comments and
// spaces go from the programs, and declarations go that nobody can reach from the entrances. Those that an entrance
// names keep their comments: they are what an editor shows.
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

/** @param {string} path */
function namedBy(path) {
  const text = readFileSync(join(folder, path), 'utf8');
  const names = text.matchAll(/(?:from |import\()['"](\.[^'"]*)\.[jt]s['"]/g);
  return [...names].map(([, name = '']) => normalize(join(dirname(path), `${name}.d.ts`)));
}

/** @type {Set<string>} */
const reached = new Set();

/** @param {string} path */
function reach(path) {
  if (reached.has(path)) return;
  reached.add(path);
  for (const named of namedBy(path)) reach(named);
}

const doors = entrances.map((entrance) => `${entrance}.d.ts`);
/** An entrance names one word of them, and the rest is a seam inside. */
const INSIDE = /^topologies[\\/]/;
const shown = new Set([...doors, ...doors.flatMap(namedBy).filter((path) => !INSIDE.test(path))]);
for (const door of doors) reach(door);
for (const path of files('.d.ts')) {
  const file = join(folder, path);
  if (!reached.has(path)) {
    rmSync(file);
    continue;
  }
  const text = readFileSync(file, 'utf8');
  const kept = shown.has(path) ? text : text.replaceAll(/^\s*\/\*\*[\s\S]*?\*\/\n/gm, '');
  writeFileSync(file, kept.replaceAll(/^ +/gm, ''));
}
