/** The folders of the source stand above each other in the order that `src/index.ts` lists. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const SOURCE = join(import.meta.dirname, '../src');
const FILES = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts'));
const INDEX = readFileSync(join(SOURCE, 'index.ts'), 'utf8');
/** The lowest first. */
const FOLDERS = [...INDEX.matchAll(/^\/\/ {3}(\w+)\/ /gm)].map(([, folder = '']) => folder);

/** What a file imports, types included: files from the root of the source, packages by their names. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(SOURCE, file), 'utf8');
  return [...text.matchAll(/(?:from |import\()'([^']+)'/g)].map(([, name = '']) =>
    name.startsWith('.') ? normalize(join(dirname(file), name)).replaceAll('\\', '/') : name,
  );
}

function rankOf(file: string): number {
  if (file === 'checks.ts') return -1;
  return file === 'index.ts' ? FOLDERS.length : FOLDERS.indexOf(file.split('/')[0] ?? '');
}

test('every folder is listed', () => {
  const folders = FILES.filter((file) => file.includes('/')).map((file) => file.split('/')[0]);
  expect([...new Set(folders)].sort()).toEqual([...FOLDERS].sort());
});

test('no file imports from a folder above its own', () => {
  const upward = FILES.flatMap((file) =>
    importsOf(file)
      .filter((name) => FILES.includes(name) && rankOf(name) > rankOf(file))
      .map((name) => `${file} imports ${name}`),
  );
  expect(upward).toEqual([]);
});

test('nothing is imported from outside but Node, holdfast by its public entry, and the Lua engine', () => {
  const outside = FILES.flatMap(importsOf).filter(
    (name) => !FILES.includes(name) && !name.startsWith('node:'),
  );
  expect([...new Set(outside)].sort()).toEqual(['holdfast', 'wasmoon-lua5.1']);
});
