// The tests of holdfast-sql: `npm run test:sql`. `-- --long` handles 10,000 requests in four processes that are killed at
// random, on each database; `-- --planted` plants bugs and shows that each is noticed; `-- --tools` runs what needs packages
// beyond the lock file: better-sqlite3 (a native build) and Prisma.
import { run } from '../run.mjs';

const args = process.argv.slice(2);
const has = (/** @type {string} */ option) => args.includes(option);
const others = args.filter((arg) => !['--long', '--planted', '--tools'].includes(arg));
if (has('--long')) process.env['HOLDFAST_SQL_LONG'] = '1';
if (has('--tools')) process.env['HOLDFAST_SQL_TOOLS'] = '1';
if (!run('scripts/setup/setup.mjs')) process.exit(1);
const isTested = has('--planted')
  ? run('node_modules/tsx/dist/cli.mjs', ['packages/sql/test/planted/main.ts'])
  : run('node_modules/vitest/vitest.mjs', ['run', 'packages/sql/', ...others]);
process.exitCode = isTested ? 0 : 1;
