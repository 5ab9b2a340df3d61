/** `npm run test:sql -- --planted` can plant each bug and find the test that must notice it, and the page lists them all. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { PLANTED_BUGS } from './planted/bugs.ts';

const PACKAGE = resolve(import.meta.dirname, '..');

test.each(PLANTED_BUGS.map((bug) => [bug.name, bug] as const))('can be planted: %s', (_, bug) => {
  const { file, from, also = [], test: noticing } = bug;
  const [testFile, title] = noticing;
  const source = readFileSync(join(PACKAGE, file), 'utf8');
  for (const text of [from, ...also.map(([each]) => each)]) expect(source).toContain(text);
  expect(readFileSync(join(PACKAGE, 'test', testFile), 'utf8')).toContain(title);
});

test('the page on testing lists every one', () => {
  const page = readFileSync(resolve(PACKAGE, '../../docs/concepts/testing.md'), 'utf8');
  const listed = [...page.matchAll(/^\| ([^|]+) \| holdfast-sql \|$/gm)].map(([, name]) => name);
  expect(listed).toEqual(PLANTED_BUGS.map(({ name }) => name));
});
