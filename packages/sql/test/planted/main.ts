/** Plants each bug and runs the test that must notice it: `npm run test:sql -- --planted`. */
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { PLANTED_BUGS } from './bugs.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const CONFIG = join(import.meta.dirname, 'vitest.config.ts');

let missed = 0;
for (const { name, test } of PLANTED_BUGS) {
  const [file, title] = test;
  const escaped = title.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const args = ['vitest', 'run', '--config', CONFIG, join('test', file), '-t', escaped];
  const { status, stdout, stderr } = spawnSync('npx', args, {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, HOLDFAST_SQL_BUG: name, NO_COLOR: '1' },
  });
  const failed = /Tests +(\d+) failed/.exec(stdout)?.[1];
  const isFound = status !== 0 && failed !== undefined;
  if (!isFound) missed += 1;
  console.log(`${isFound ? `found by ${failed} tests` : 'NOT FOUND'}: ${name}`);
  if (!isFound) console.log(`${stdout}${stderr}`);
}
process.exitCode = missed === 0 ? 0 : 1;
