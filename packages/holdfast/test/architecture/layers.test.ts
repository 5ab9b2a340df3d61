/** The shape of the sources of all packages: layers, cycles, fan-out, sizes. Imports of types count like all others. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { expect, test } from 'vitest';

const PACKAGES = resolve(import.meta.dirname, '../../..');
/** From below. A file imports its own layer and lower rows; of another layer in its row, only the entry `index.ts`. */
const LAYERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  holdfast: [
    ['runtime'],
    ['errors'],
    ['keys'],
    ['options', 'telemetry'],
    ['scripts'],
    ['clients'],
    ['topologies'],
    ['locking'],
    ['primitives', 'admin'],
    ['locks'],
    ['index'],
  ],
  cli: [
    ['completion', 'debug-variable', 'duration', 'exit-codes', 'printable'],
    ['failure', 'logins', 'options'],
    ['output'],
    ['servers', 'table'],
    ['doctor', 'live-screen', 'locks', 'monitor'],
    ['run'],
    ['demo'],
    ['commands'],
    ['grammar'],
    ['program'],
    ['main'],
  ],
  monitor: [
    ['api', 'own-page', 'time-limit', 'version'],
    ['figures'],
    ['audit', 'sampling'],
    ['alert-source'],
    ['alerts', 'http'],
    ['options'],
    ['monitor'],
    ['node-listener'],
    ['index'],
  ],
  sql: [
    ['errors', 'plan'],
    ['checks'],
    ['codec', 'connections'],
    ['dialects'],
    ['verbs'],
    ['verbs-sync'],
    ['index', 'sync'],
  ],
  telemetry: [
    ['checks', 'instruments', 'outcome', 'report'],
    ['groups', 'opentelemetry-api', 'series', 'subscriptions', 'telemetry'],
    ['spans', 'work-figures'],
    ['figures'],
    ['opentelemetry', 'prometheus'],
    ['index'],
  ],
  testing: [['checks', 'protocol'], ['clock', 'lua'], ['state'], ['commands'], ['node'], ['index']],
};
/** From below: a package imports the packages of lower rows, by their names. */
const PACKAGE_ROWS: readonly (readonly string[])[] = [
  ['holdfast', 'sql'],
  ['monitor', 'telemetry', 'testing'],
  ['cli'],
];
const FILES_MAX = 15;
const LINES_MAX = 300;
const FAN_OUT_MAX = 15;
const IMPORT = /(?:\bfrom\s+|\bimport\s*\(\s*|^\s*import\s+|\brequire\(\s*)(['"])([^'"\n]+)\1/gm;

const paths = readdirSync(PACKAGES, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => /^[^/]+\/src\/.*\.ts$/.test(path))
  .sort();
const texts = new Map(paths.map((path) => [path, readFileSync(join(PACKAGES, path), 'utf8')]));

/** As they are written. */
function namesOf(path: string): string[] {
  return [...(texts.get(path) ?? '').matchAll(IMPORT)].map(([, , name = '']) => name);
}

/** Files by their paths, other modules by their names. */
function importsOf(path: string): string[] {
  const modules = namesOf(path).map((name) =>
    name.startsWith('.') ? posix.join(posix.dirname(path), name) : name,
  );
  return [...new Set(modules)];
}

/** The row of the package that a module is of, by its name; -1 for modules of others. */
function rowOfModule(module: string): number {
  return PACKAGE_ROWS.findIndex((row) =>
    row.some((name) => {
      const published = name === 'holdfast' ? name : `holdfast-${name}`;
      return module === published || module.startsWith(`${published}/`);
    }),
  );
}

/** Whether an import leads to no source file of its own package, and to no package that is below. */
function isAstray(from: string, name: string): boolean {
  const [home = ''] = from.split('/');
  if (!name.startsWith('.')) return rowOfModule(name) >= PACKAGE_ROWS.findIndex((row) => row.includes(home));
  const to = posix.join(posix.dirname(from), name);
  return !texts.has(to) || !to.startsWith(`${home}/`);
}

/** A file beside the folders is a layer of its own. */
function layerOf(path: string): string {
  return path.split('/')[2]?.replace(/\.ts$/, '') ?? '';
}

function isUpOrSideways(from: string, to: string): boolean {
  const rows = LAYERS[from.split('/')[0] ?? ''] ?? [];
  const [own, other] = [from, to].map((path) => rows.findIndex((row) => row.includes(layerOf(path))));
  if (own === undefined || other === undefined || own < 0 || other < 0) return true;
  if (layerOf(from) === layerOf(to) || other < own) return false;
  return other > own || !to.endsWith('/index.ts');
}

/** Import cycles that can be reached from a file. `cleared` has the files that were followed before. */
function cyclesFrom(path: string, trail: readonly string[], cleared: Set<string>): string[] {
  if (trail.includes(path)) return [[...trail.slice(trail.indexOf(path)), path].join(' -> ')];
  if (cleared.has(path)) return [];
  const cycles = importsOf(path).flatMap((next) => cyclesFrom(next, [...trail, path], cleared));
  cleared.add(path);
  return cycles;
}

test('the sources of every package are found, and every layer', () => {
  const packages = readdirSync(PACKAGES).filter((name) => existsSync(join(PACKAGES, name, 'package.json')));
  expect(Object.keys(LAYERS).sort()).toEqual(packages.sort());
  const found = new Set(paths.map((path) => `${path.split('/')[0]}/${layerOf(path)}`));
  const layers = Object.entries(LAYERS).flatMap(([name, rows]) => rows.flat().map((row) => `${name}/${row}`));
  expect([...found].sort()).toEqual([...new Set(layers)].sort());
  expect(paths.flatMap(importsOf).length).toBeGreaterThan(paths.length);
});

test('a file imports only files of its own package, and packages below it by their names', () => {
  expect(PACKAGE_ROWS.flat().sort()).toEqual(Object.keys(LAYERS).sort());
  const imports = paths.flatMap((from) => namesOf(from).map((name) => ({ from, name })));
  const astray = imports.filter(({ from, name }) => isAstray(from, name));
  expect(astray.map(({ from, name }) => `${from} -> ${name}`)).toEqual([]);
});

test('no import goes upward, or sideways past the entry of a layer', () => {
  const imports = paths.flatMap((from) => importsOf(from).map((to) => ({ from, to })));
  const wrong = imports.filter(({ from, to }) => texts.has(to) && isUpOrSideways(from, to));
  expect(wrong.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
});

test('no import cycle, types included', () => {
  const cleared = new Set<string>();
  expect(paths.flatMap((path) => cyclesFrom(path, [], cleared))).toEqual([]);
});

test(`no file imports more than ${FAN_OUT_MAX} modules, but for an index`, () => {
  const counts = paths.map((path) => `${path}: ${importsOf(path).length}`);
  const wide = (line: string) => !line.includes('/index.ts:') && Number(line.split(': ')[1]) > FAN_OUT_MAX;
  expect(counts.filter(wide)).toEqual([]);
});

test(`no folder has more than ${FILES_MAX} files, no file more than ${LINES_MAX} lines`, () => {
  const folders = paths.map((path) => posix.dirname(path));
  const full = [...new Set(folders)].filter(
    (folder) => folders.filter((each) => each === folder).length > FILES_MAX,
  );
  const long = paths.filter((path) => (texts.get(path) ?? '').split('\n').length - 1 > LINES_MAX);
  expect([...full, ...long.filter((path) => !path.endsWith('/scripts/generated.ts'))]).toEqual([]);
});
