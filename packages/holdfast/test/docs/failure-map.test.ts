/**
 * The pages that name tests name tests that exist, and none of the failures that we know of is missing from the list.
 * Read from the source as text: a title on the page is the title as it is written there.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT, readPage } from './pages.ts';

const TESTS = join(ROOT, 'packages/holdfast/test');
const FAILURES = 'docs/concepts/failures.md';
const GUARANTEES = 'docs/concepts/guarantees.md';

function range(first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => `${first + index}`);
}

/** The failures that a lock on one server or on several can meet, and the bugs that others ship. */
const EXPECTED = [
  ...[...range(1, 19), '63', ...range(20, 40), ...range(42, 49), ...range(51, 53), '57', '70'],
  ...[...range(1, 8), '10', '11', '11b', '12', ...range(14, 18), ...range(21, 24), '26'].map(
    (number) => `E${number}`,
  ),
];

interface Row {
  readonly cells: readonly string[];
  /** The last cell: one or more of "`file`: a case > the title". */
  readonly references: readonly string[];
}

/** The rows of the tables of a page whose last column names tests. */
function rowsOf(page: string): Row[] {
  const tables = readPage(page).match(/(?:^\|.*\n)+/gm) ?? [];
  return tables.flatMap((table) => {
    const [head = '', , ...rows] = table.trimEnd().split('\n');
    if (!/\| (test|checked by) \|$/.test(head)) return [];
    return rows.map((row) => {
      const cells = row.slice(2, -2).split(' | ');
      return { cells, references: cells.at(-1)?.split('<br>') ?? [] };
    });
  });
}

/** What is wrong with a reference, or null. */
function complaintOf(reference: string): string | null {
  const [, file = '', path = ''] = /^`([\w./-]+\.ts)`: (.+)$/.exec(reference) ?? [];
  if (file === '') return `expected "\`file\`: title", found ${reference}`;
  if (!existsSync(join(TESTS, file))) return `there is no ${file}`;
  const source = readFileSync(join(TESTS, file), 'utf8');
  const parts = path.split(' > ');
  const title = parts.at(-1) ?? '';
  // The title of a test is the first argument of a call, and others follow it.
  const isTitle = quotes(title).some((literal) => new RegExp(`\\(\\s*${escaped(literal)}\\s*,`).test(source));
  if (!isTitle) return `${file} has no test "${title}"`;
  const missing = parts
    .slice(0, -1)
    .find((part) => !quotes(part).some((literal) => source.includes(literal)));
  return missing === undefined ? null : `${file} has no case "${missing}"`;
}

function quotes(text: string): string[] {
  return [`'${text}'`, `"${text}"`, `\`${text}\``];
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

describe.each([FAILURES, GUARANTEES])('%s', (page) => {
  test('names only tests that exist', () => {
    const references = rowsOf(page).flatMap((row) => row.references);
    expect(references.length).toBeGreaterThan(20);
    expect(references.map(complaintOf).filter((complaint) => complaint !== null)).toEqual([]);
  });
});

test('every failure has its row, and no row is there twice', () => {
  const numbers = rowsOf(FAILURES).map(({ cells }) => cells[0]);
  expect(numbers).toEqual(EXPECTED);
});
