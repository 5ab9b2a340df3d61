/**
 * Every block of TypeScript on a page compiles, and runs against a real server as it is written. A block marked
 * `ts no-run` cannot run alone; it compiles all the same. A `text` block right after a block is what it prints.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { blocksOf, listPages } from './pages.ts';
import { expectPrinted } from './printed.ts';
import { useServerPool } from './server-pool.ts';
import { type Ran, Workshop } from './workshop.ts';

/** Most of it is waiting for one of the servers. */
const LIMIT_MS = 120_000;

const pool = useServerPool();
const workshop = new Workshop();
let compiled: Ran = { code: null, output: '' };

const snippets = listPages()
  .flatMap(blocksOf)
  .filter(({ info }) => /^(ts|js)\b/.test(info))
  .map((block) => {
    const { page, line, info, code } = block;
    const [language, ...marks] = info.split(' ');
    const file = workshop.write(`${page.replaceAll(/[./]/g, '-')}-${line}.${language}`, `${code}\n`);
    return { ...block, file, mark: marks.join(' ') };
  });

beforeAll(async () => {
  compiled = await workshop.compile();
}, LIMIT_MS);

test('every snippet and every example compiles', () => {
  expect(compiled.output).toBe('');
  expect(compiled.code).toBe(0);
});

test('a snippet has no mark but no-run', () => {
  for (const { page, line, mark } of snippets) expect(['', 'no-run'], `${page}, line ${line}`).toContain(mark);
});

describe.concurrent('a snippet', { timeout: LIMIT_MS }, () => {
  for (const { page, line, mark, file, output: shown } of snippets) {
    if (mark === 'no-run') continue;
    test(`of ${page}, line ${line}, runs`, async () => {
      const { code, output } = await pool.lend((port) => workshop.run(file, port));
      expect(code, output).toBe(0);
      if (shown !== null) expectPrinted(output, shown);
    });
  }
});
