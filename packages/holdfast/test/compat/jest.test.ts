/** A plain Jest 30, as people have it: with tests in CommonJS, and with tests in ES modules. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installPackage, installTesting, printed } from '../package/installed-package.ts';
import { runtimes } from '../runtimes/runtime.ts';
import { compatTools } from './tools.ts';

const FIXTURES = join(import.meta.dirname, 'jest');
const RULES = 4;

/** What Jest asks of Node for ES modules is its users' affair, and in its documentation. */
const WAYS = [
  { way: 'CommonJS', file: 'commonjs.test.cjs', options: [] },
  { way: 'ES modules', file: 'modules.test.mjs', options: ['--experimental-vm-modules'] },
];

/** A busy machine starts processes slowly, and compilers slower still. */
const LIMIT_MS = 300_000;

let folder = '';
let jest = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-jest-'));
  const [tools] = await Promise.all([
    compatTools(),
    installPackage(folder, ['ioredis']).then(() => installTesting(folder)),
    cp(FIXTURES, folder, { recursive: true }),
  ]);
  jest = join(tools, 'jest/bin/jest.js');
}, LIMIT_MS);

afterAll(() => rm(folder, { recursive: true, force: true }));

interface Report {
  readonly numPassedTests: number;
  readonly numTotalTests: number;
}

describe.each(runtimes().filter(({ title }) => title.startsWith('Node')))('$title', ({ command }) => {
  test.each(WAYS)('Jest runs tests in $way', { timeout: LIMIT_MS }, async ({ file, options }) => {
    const [node = ''] = command;
    const args = ['--no-warnings', ...options, jest, '--json', '--rootDir', folder, '--cacheDirectory'];
    const said = await printed(node, [...args, join(folder, '.jest'), '--runTestsByPath', file], folder);
    const { numPassedTests, numTotalTests } = JSON.parse(said) as Report;
    expect({ numPassedTests, numTotalTests }).toEqual({ numPassedTests: RULES, numTotalTests: RULES });
  });
});
