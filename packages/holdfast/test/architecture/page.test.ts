/** What docs/architecture.md says of files and folders: each is there, and each folder of the sources is in the tree. */
import { existsSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT, readPage } from '../docs/pages.ts';

const PAGE = 'docs/architecture.md';
const TOPS = ['packages', 'bench', 'docs', 'examples', 'interop', 'model', 'scripts'];
/** What Git ignores. */
const LEFT_OUT = ['node_modules', 'dist', 'out', '.cache'];

/** Files and folders below one, from the root of the repository; a folder ends with `/`. */
function below(folder: string): string[] {
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true });
  return entries
    .filter(({ name }) => !LEFT_OUT.includes(name))
    .flatMap((entry) =>
      entry.isDirectory()
        ? [`${folder}/${entry.name}/`, ...below(`${folder}/${entry.name}`)]
        : [`${folder}/${entry.name}`],
    );
}

interface Line {
  /** What the line is about, from the root: one folder or file, or several side by side. */
  readonly paths: readonly string[];
  readonly text: string;
}

/** The lines of the tree. A line that goes on with the words of the one above belongs to that one. */
function treeOf(page: string): Line[] {
  const [, tree = ''] = /^## The tree\n+```text\n([\s\S]*?)^```/m.exec(page) ?? [];
  const lines: Line[] = [];
  const parents: string[] = [];
  for (const line of tree.trimEnd().split('\n')) {
    const indent = line.search(/\S/);
    const [names = '', ...words] = line.trim().split(/(?<!,) +/);
    const last = lines.at(-1);
    if (indent >= 20 && last !== undefined) {
      lines[lines.length - 1] = { ...last, text: `${last.text} ${line.trim()}` };
      continue;
    }
    const parent = parents.slice(0, indent / 2).join('');
    const paths = names.split(', ').map((name) => `${parent}${name}`);
    parents.splice(indent / 2, parents.length, names);
    lines.push({ paths, text: words.join(' ') });
  }
  return lines;
}

/** `lua/<kind>/renew.lua` stands for that file of every kind, `observe-*.ts` for all that begin so. */
function patternOf(path: string): RegExp {
  const text = path.replaceAll('.', '\\.').replaceAll(/<\w+>|\*/g, '[^/]+');
  return new RegExp(`(?:^|/)${text}$`);
}

describe.runIf(existsSync(join(ROOT, PAGE)))('the architecture page', () => {
  const page = existsSync(join(ROOT, PAGE)) ? readPage(PAGE) : '';
  const known = TOPS.flatMap((top) => [`${top}/`, ...below(top)]);
  const tree = treeOf(page);

  test('names no file or folder that is not there', () => {
    const words = [...page.matchAll(/`([^`\n]+)`/g)].map(([, word = '']) => word);
    const isPath = /^[\w<>*-][\w./<>*-]*(?:\/|\.(?:ts|tsx|lua|md|json))$/;
    const paths = [...new Set(words.filter((word) => isPath.test(word)))];
    expect(paths.length).toBeGreaterThan(100);
    // The folder of a library or a kind that somebody is to write.
    const isNew = /^(?:test\/)?(?:clients|primitives)\/<\w+>/;
    const missing = paths.filter((path) => !known.some((one) => patternOf(path).test(one)));
    expect(missing.filter((path) => !isNew.test(path))).toEqual([]);
  });

  test('has every line of its tree where the folder or file is', () => {
    expect(tree.length).toBeGreaterThan(80);
    expect(tree.flatMap(({ paths }) => paths).filter((path) => !known.includes(path))).toEqual([]);
  });

  test('has every folder of the sources in its tree, in a line or in the words of the line above', () => {
    const isSource = /^(?:packages\/[^/]+\/(?:src|page)|bench|scripts)\/./;
    const folders = known.filter((path) => path.endsWith('/') && isSource.test(path));
    const untold = folders.filter((folder) => {
      const parent = `${posix.dirname(folder)}/`;
      const told = tree.filter(({ paths }) => paths.includes(parent)).map(({ text }) => text);
      return (
        !tree.some(({ paths }) => paths.includes(folder)) &&
        !told.some((text) => text.includes(`${posix.basename(folder)}/`))
      );
    });
    expect(untold).toEqual([]);
  });
});
