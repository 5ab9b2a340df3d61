/** The tests with one bug in the sources, named by `HOLDFAST_SQL_BUG`. The files on the disk are not touched. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { PLANTED_BUGS } from './bugs.ts';

const PACKAGE = resolve(import.meta.dirname, '../..');
const bug = PLANTED_BUGS.find(({ name }) => name === process.env['HOLDFAST_SQL_BUG']);
if (bug === undefined) throw new Error('expected HOLDFAST_SQL_BUG to name a planted bug');
const file = join(PACKAGE, bug.file);
const changes = [[bug.from, bug.to] as const, ...(bug.also ?? [])];

export default defineConfig({
  plugins: [
    {
      name: 'planted-bug',
      enforce: 'pre',
      load(id) {
        if (id.split('?')[0] !== file) return null;
        const text = readFileSync(file, 'utf8');
        return changes.reduce((changed, [from, to]) => {
          if (!changed.includes(from)) throw new Error(`${bug.file} has no ${from}`);
          return changed.replaceAll(from, () => to);
        }, text);
      },
    },
  ],
  test: {
    root: PACKAGE,
    include: ['test/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 240_000,
  },
});
