/**
 * Every block of TypeScript on a page compiles, and runs against a real server as it is written. A block marked
 * `ts no-run` cannot run alone; it compiles all the same. A `text` block right after a block is what it prints.
 */
import { describe, expect, test } from 'vitest';
import { blocksOf, listPages } from './pages.ts';
import { expectPrinted } from './printed.ts';
import { useServerPool } from './server-pool.ts';
import { Workshop } from './workshop.ts';

/** Most of it is waiting for one of the servers. */
const LIMIT_MS = 120_000;

const pool = useServerPool();
const workshop = new Workshop();

const snippets = listPages()
  .flatMap(blocksOf)
  .filter(({ info }) => /^(ts|js)\b/.test(info))
  .map((block) => {
    const { page, line, info, code } = block;
    const [language, ...marks] = info.split(' ');
    const file = workshop.write(`${page.replaceAll(/[./]/g, '-')}-${line}.${language}`, `${code}\n`);
    return { ...block, title: `${page}, line ${line},`, file, marks };
  });

test('every snippet compiles', { timeout: LIMIT_MS }, async () => {
  const { code, output } = await workshop.compile();
  expect(output).toBe('');
  expect(code).toBe(0);
});

test('no snippet has a mark but no-run', () => {
  for (const { title, marks } of snippets) expect(['', 'no-run'], title).toContain(marks.join(' '));
});

describe.concurrent('a snippet', { timeout: LIMIT_MS }, () => {
  const runnable = snippets.filter(({ marks }) => !marks.includes('no-run'));
  test.each(runnable)('$title runs', async ({ file, output: shown }) => {
    const { code, output } = await pool.lend((port) => workshop.run(file, port));
    expect(code, output).toBe(0);
    if (shown !== null) expectPrinted(output, shown);
  });
});
