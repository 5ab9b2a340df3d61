/** Each folder of the sources has one file whose head says what lives in the folder, and who may import from it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { expect, test } from 'vitest';

const PACKAGES = resolve(import.meta.dirname, '../../..');
const HEAD = /^(?:#!.*\n)?(\/\*[\s\S]*?\*\/)/;
const IMPORT = /(?:\bfrom |\bimport\(|^@?import )['"](\.[^'"]+)['"]/gm;

const paths = readdirSync(PACKAGES, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => /^[^/]+\/(src|page)\/.*\.(ts|tsx|css)$/.test(path))
  .sort();
const texts = new Map(paths.map((path) => [path, readFileSync(join(PACKAGES, path), 'utf8')]));
const folders = [...new Set(paths.map((path) => posix.dirname(path)))];

/** The paragraph "In this folder" of each head of the folder that has one. */
function headsOf(folder: string): string[] {
  const own = paths.filter((path) => posix.dirname(path) === folder);
  const heads = own.map(
    (path) =>
      texts
        .get(path)
        ?.match(HEAD)?.[1]
        ?.replace(/\s+\*?\s*/g, ' ') ?? '',
  );
  return heads.flatMap((head) => head.match(/In this folder: .* from here\b.*/) ?? []);
}

/** Files outside the folder that import from it. */
function importersOf(folder: string): string[] {
  return paths.filter((path) => {
    if (path.startsWith(`${folder}/`)) return false;
    const imported = [...(texts.get(path) ?? '').matchAll(IMPORT)].map(([, name = '']) => name);
    return imported.some((name) => posix.join(posix.dirname(path), name, '..') === folder);
  });
}

test('one head in each folder says what lives there and who imports from it', () => {
  expect(folders.length).toBeGreaterThan(60);
  expect(folders.filter((folder) => headsOf(folder).length !== 1)).toEqual([]);
});

test('where a head names who alone imports from its folder, nobody else does', () => {
  const wrong = folders.flatMap((folder) => {
    const only = headsOf(folder)[0]?.match(/\bOnly (.*) imports? (?:from here\b.*)$/)?.[1];
    if (only === undefined) return [];
    const named = [...only.matchAll(/`([^`]+)`/g)].map(([, name]) => `/${name}`);
    const others = importersOf(folder).filter((path) => !named.some((name) => path.includes(name)));
    return others.map((path) => `${path} -> ${folder}`);
  });
  expect(wrong).toEqual([]);
});
