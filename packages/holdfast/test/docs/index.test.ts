/** Every page can be found from the README, and from the table of questions. */
import { expect, test } from 'vitest';
import { listFiles, readPage } from './pages.ts';

const FOLDERS = ['guide', 'concepts', 'reference', 'operate'];

const PAGES = FOLDERS.flatMap((folder) => listFiles(`docs/${folder}`, '.md')).sort();

/** The pages that a text links to, each as often as it does, without those to a heading of a page. */
function linkedPages(text: string): string[] {
  return [...text.matchAll(/\]\(([^)#]+\.md)\)/g)].map(([, target = '']) => target).sort();
}

function repeated(all: readonly string[]): string[] {
  return all.filter((one, index) => all.indexOf(one) !== index);
}

test('the list of the README has every page of each folder once', () => {
  const [, list = ''] = readPage('README.md').split(/^## Documentation$/m);
  for (const folder of FOLDERS) {
    const heading = `- **${folder.charAt(0).toUpperCase()}${folder.slice(1)}:**`;
    const [, rest = ''] = list.split(heading);
    const [line = ''] = rest.split(/\n- \*\*/);
    expect(linkedPages(line), heading).toEqual(listFiles(`docs/${folder}`, '.md'));
  }
});

test('the table of questions leads to every page, and has no question twice', () => {
  const text = readPage('docs/README.md');
  const found = linkedPages(text.replaceAll(/#[^)\s]*\)/g, ')')).map((target) => `docs/${target}`);
  expect(PAGES.filter((page) => !found.includes(page))).toEqual([]);
  const rows = text.split('\n').filter((line) => line.startsWith('| '));
  const contents = rows.filter((row) => !/^\| (---|I want to…|word) /.test(row));
  expect(contents.length).toBeGreaterThan(PAGES.length);
  expect(repeated(contents)).toEqual([]);
  expect(repeated(contents.map((row) => row.split(' | ')[0] ?? ''))).toEqual([]);
});
