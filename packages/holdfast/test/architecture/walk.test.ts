/** Requests followed through the sources, as `npm run walk` prints them. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../../..');
const PAGE = 'docs/architecture.md';

/** Most calls into the session for one uncontended acquire and release: the session only finds entrances and closes. */
const SESSION_CALLS_MAX = 5;

interface Walk {
  readonly request: string;
  readonly files: readonly { readonly file: string; readonly calls: number }[];
}

const run = promisify(execFile);

function walk(...args: string[]) {
  const script = join(ROOT, 'scripts/walk/main.ts');
  return run(process.execPath, ['--import', 'tsx', script, ...args], { cwd: ROOT });
}

test('an uncontended acquire and release seldom enters the session', async () => {
  const { stdout } = await walk('acquire', '--json');
  const [{ files } = { files: [] }] = JSON.parse(stdout) as Walk[];
  expect(files[0]?.file).toBe('packages/holdfast/src/locks.ts');
  const session = files.find(({ file }) => file.endsWith('/locking/session.ts'));
  expect(session?.calls).toBeGreaterThan(0);
  expect(session?.calls).toBeLessThanOrEqual(SESSION_CALLS_MAX);
});

test.runIf(existsSync(join(ROOT, PAGE)))('the walks of the architecture page are true', async () => {
  const { stdout } = await walk('--check', PAGE);
  expect(stdout).toMatch(/: \d+ walks are true/);
});

test('an unknown request is answered with the known ones', async () => {
  const refused = expect(walk('arrive')).rejects;
  await refused.toMatchObject({ code: 2, stderr: expect.stringContaining('got arrive') });
});
