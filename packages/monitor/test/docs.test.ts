/** docs/operate/monitoring.md lists what the code has. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { SERIES } from '../src/api/types.ts';

const PAGE = readFileSync(resolve(import.meta.dirname, '../../../docs/operate/monitoring.md'), 'utf8');

test('the figures of a server on the page are the series of the code, each with its unit and meaning', () => {
  const [, shown = ''] = /<!-- series -->\n([\s\S]*?)\n<!-- \/series -->/.exec(PAGE) ?? [];
  const [, , ...rows] = shown.split('\n');
  expect(rows.map((row) => /^\| `(\w+)` \| [^|]+ \| [^|]+ \|$/.exec(row)?.[1])).toEqual([...SERIES]);
  const counts = [...PAGE.matchAll(/\b(\d+) figures\b/g)].map(([, count]) => Number(count));
  expect(counts).toEqual([SERIES.length]);
});
