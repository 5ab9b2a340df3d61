/** The page of the clients says what was tried, and what a client cannot do. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SUPPORT_FILE, type SupportRow } from '../../../../scripts/test/support.ts';
import { FLAVOURS } from '../clients/flavours.ts';
import { ROOT, readPage } from './pages.ts';
import { supportSection } from './support-section.ts';

const PAGE = 'docs/guide/clients.md';
const SECTION = /(<!-- support: [^\n]* -->\n)([\s\S]*?)(<!-- end of support -->)/;

test('the table of what was tried is what the last run of the matrix wrote down', async () => {
  const rows = JSON.parse(readFileSync(SUPPORT_FILE, 'utf8')) as SupportRow[];
  expect(rows.length).toBeGreaterThan(10);
  const page = readPage(PAGE);
  expect(page).toMatch(SECTION);
  const current = page.replace(SECTION, (_, begin, __, end) => `${begin}\n${supportSection(rows)}\n\n${end}`);
  await expect(current).toMatchFileSnapshot(join(ROOT, PAGE));
});

test('what a client declines is on the page, with the reason', () => {
  const reasons = FLAVOURS.flatMap(({ declines = {} }) => Object.values(declines));
  expect(reasons.length).toBeGreaterThan(0);
  for (const reason of reasons) expect(readPage(PAGE)).toContain(reason);
});
