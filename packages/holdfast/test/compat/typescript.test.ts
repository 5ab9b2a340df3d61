/** Strict TypeScript users compile against the declarations alone, with old and new compilers, in every kind of module. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installPackage, installTesting, MODULES, printed } from '../package/installed-package.ts';
import { type Extent, rowsOf } from '../support/extent.ts';
import { compatTools } from './tools.ts';

const PROGRAM = `import { Redis } from 'ioredis';
import { type FencedLease, LockError, Locks } from 'holdfast';
import { EmbeddedNode } from 'holdfast-testing';

const locks = new Locks(new Redis({ lazyConnect: true }));
export const embedded: Locks = new Locks(new EmbeddedNode().client());
export const fence: Promise<number> = locks.lock('a').using((lease: FencedLease) => lease.fence);
export const codeOf = (error: unknown): string => (error instanceof LockError ? error.code : '');
// @ts-expect-error a mutex has no fence
export const none: Promise<number> = locks.mutex('a').using((lease) => lease.fence);
`;

/** The settings of `module` and `moduleResolution`, with the kinds of files that they tell apart. */
const SETTINGS = {
  node16: { options: ['--module', 'node16'], files: ['user.mts', 'user.cts'] },
  nodenext: { options: ['--module', 'nodenext'], files: ['user.mts', 'user.cts'] },
  bundler: { options: ['--module', 'esnext', '--moduleResolution', 'bundler'], files: ['user.ts'] },
  /** What `commonjs` meant before TypeScript 6. */
  node10: { options: ['--module', 'commonjs', '--moduleResolution', 'node10'], files: ['plain/user.ts'] },
} as const;

interface Case extends Extent {
  readonly compiler: '5.4' | '5.6' | '5.9' | '7.0';
  readonly setting: keyof typeof SETTINGS;
}

const CASES = rowsOf<Case>([
  { compiler: '5.4', setting: 'node16' },
  { compiler: '5.4', setting: 'nodenext', isMatrix: true },
  { compiler: '5.4', setting: 'bundler', isMatrix: true },
  { compiler: '5.4', setting: 'node10', isMatrix: true },
  { compiler: '5.6', setting: 'node16', isMatrix: true },
  { compiler: '5.6', setting: 'nodenext', isMatrix: true },
  { compiler: '5.6', setting: 'bundler', isMatrix: true },
  { compiler: '5.6', setting: 'node10', isMatrix: true },
  { compiler: '5.9', setting: 'node16', isMatrix: true },
  { compiler: '5.9', setting: 'nodenext', isMatrix: true },
  { compiler: '5.9', setting: 'bundler', isMatrix: true },
  { compiler: '5.9', setting: 'node10', isMatrix: true },
  { compiler: '7.0', setting: 'node16', isMatrix: true },
  { compiler: '7.0', setting: 'nodenext' },
  { compiler: '7.0', setting: 'bundler' },
]);

/** A busy machine starts processes slowly, and compilers slower still. */
const LIMIT_MS = 300_000;

let folder = '';
let tools = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-typescript-'));
  const beside = ['@types', 'ioredis'];
  [tools] = await Promise.all([
    compatTools(),
    installPackage(folder, beside).then(() => installTesting(folder)),
    mkdir(join(folder, 'plain')),
  ]);
  const files = new Set<string>(Object.values(SETTINGS).flatMap((setting) => setting.files));
  await Promise.all([...files].map((file) => writeFile(join(folder, file), PROGRAM)));
}, LIMIT_MS);

afterAll(() => rm(folder, { recursive: true, force: true }));

function tscOf(compiler: Case['compiler']): string {
  const home = compiler === '7.0' ? join(MODULES, 'typescript') : join(tools, `typescript-${compiler}`);
  return join(home, 'bin/tsc');
}

test.each(CASES)(
  'TypeScript $compiler compiles with $setting',
  { timeout: LIMIT_MS },
  async ({ compiler, setting }) => {
    const tsc = tscOf(compiler);
    expect(await printed(process.execPath, [tsc, '--version'], folder)).toContain(`Version ${compiler}.`);
    const { options, files } = SETTINGS[setting];
    // `Symbol.asyncDispose` is in the second of the libraries.
    const strict = ['--strict', '--noEmit', '--target', 'es2022', '--lib', 'es2022,esnext.disposable'];
    const checked = ['--skipLibCheck', 'false', '--types', 'node', ...files];
    expect(await printed(process.execPath, [tsc, ...strict, ...options, ...checked], folder)).toBe('');
  },
);
