/**
 * Compares what each entry of a package exports with its surface.txt, so that a change of the public face shows up as a line in
 * a review. `--write` updates the files.
 *
 * Reads the source as text: an index names every export, and each name is declared in plain sight in the file that
 * it comes from.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Packages, each with its entries. The file of an entry other than `index` is called after it. */
const PACKAGES = [
  { home: 'packages/holdfast', entries: ['index'] },
  { home: 'packages/testing', entries: ['index'] },
  { home: 'packages/telemetry', entries: ['index'] },
  { home: 'packages/sql', entries: ['index', 'sync'] },
  { home: 'packages/monitor', entries: ['index'] },
];

const EXPORT = /^export /gm;
const LIST = /^export (type )?\{([^}]*)\} from '(\.[^']+)';$/gm;
const DECLARATION = /^export (?:abstract )?(?:async )?(class|function|const|interface|type)\*? ([\w$]+)/gm;
const COMMENT = /\/\*[\s\S]*?\*\/|\/\/.*$/gm;

/** Something in the source that this reading of it cannot follow. */
class SurfaceError extends Error {}

/** Exported names of a file, each with its kind. */
function exportsOf(file: string): Map<string, string> {
  const where = relative(ROOT, file);
  if (!existsSync(file)) throw new SurfaceError(`expected a file ${where}, found none`);
  const text = readFileSync(file, 'utf8').replaceAll(COMMENT, '');
  const declared = [...text.matchAll(DECLARATION)];
  const lists = [...text.matchAll(LIST)];
  if ([...text.matchAll(EXPORT)].length !== declared.length + lists.length) {
    throw new SurfaceError(
      `${where}: expected declarations and \`export { ... } from\`, found another export`,
    );
  }
  const found = new Map(declared.map(([, kind = '', name = '']) => [name, kind]));
  for (const [, allTypes, list = '', from = ''] of lists) {
    const source = exportsOf(join(dirname(file), from));
    for (const item of list.split(',').map((part) => part.trim())) {
      if (item === '') continue;
      const isType = allTypes !== undefined || item.startsWith('type ');
      const [name = '', alias = name] = item.replace(/^type /, '').split(' as ');
      const kind = source.get(name);
      if (kind === undefined)
        throw new SurfaceError(`${where}: expected ${from} to export ${name}, found it does not`);
      found.set(alias, isType && !/interface|type/.test(kind) ? `type of ${kind}` : kind);
    }
  }
  return found;
}

function describeSurface(home: string, entry: string): string {
  const lines = [...exportsOf(join(ROOT, home, `src/${entry}.ts`))].map(
    ([name, kind]) => `${kind} ${name}\n`,
  );
  return lines.sort((a, b) => (a < b ? -1 : 1)).join('');
}

function difference(before: string, after: string): string[] {
  const listed = before.split('\n');
  const exported = after.split('\n');
  return [
    ...listed.filter((line) => !exported.includes(line)).map((line) => `- ${line}`),
    ...exported.filter((line) => !listed.includes(line)).map((line) => `+ ${line}`),
  ];
}

function check(home: string, entry: string): void {
  const name = entry === 'index' ? 'surface.txt' : `surface-${entry}.txt`;
  const surface = join(ROOT, home, name);
  const exported = describeSurface(home, entry);
  const listed = existsSync(surface) ? readFileSync(surface, 'utf8') : '';
  if (process.argv.includes('--write')) {
    writeFileSync(surface, exported);
    console.log(`${home}/${name} lists ${exported.split('\n').length - 1} exports`);
  } else if (exported !== listed) {
    console.error(
      `${home} does not export what its ${name} lists; if that is meant, run \`npm run surface\``,
    );
    for (const line of difference(listed, exported)) console.error(line);
    process.exitCode = 1;
  }
}

try {
  for (const { home, entries } of PACKAGES) for (const entry of entries) check(home, entry);
} catch (error) {
  if (!(error instanceof SurfaceError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
