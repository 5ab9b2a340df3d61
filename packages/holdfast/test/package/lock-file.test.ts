/** `npm ci` is the only way in, on every platform: what the lock file must say, and who notices when it does not. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeGuardedFolder, removeGuardedFolder } from '../support/processes/process-guard.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const OTHER_PLATFORM = 'node_modules/@biomejs/cli-win32-arm64';

type Packages = Record<string, { resolved?: string }>;

let folder = '';

beforeAll(() => {
  folder = makeGuardedFolder('holdfast-lock-file-');
});

afterAll(() => removeGuardedFolder(folder));

/** What is said of our lock file after somebody has been at it. */
function complaintsAfter(change: (packages: Packages) => void): { said: string; status: number | null } {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Packages };
  change(lock.packages);
  const file = join(folder, 'package-lock.json');
  writeFileSync(file, JSON.stringify(lock));
  const script = join(ROOT, 'scripts/check/lock-file.mjs');
  const { stdout, status } = spawnSync(process.execPath, [script, file], { encoding: 'utf8' });
  return { said: stdout, status };
}

test('the lock file names what every platform needs, and the address of no registry', () => {
  expect(complaintsAfter(() => {})).toEqual({ said: '', status: 0 });
});

test('a lock file without the package of another platform is refused', () => {
  const { said, status } = complaintsAfter((packages) => {
    expect(packages).toHaveProperty([OTHER_PLATFORM]);
    delete packages[OTHER_PLATFORM];
  });
  expect(said).toMatch(/^node_modules\/@biomejs\/biome needs @biomejs\/cli-win32-arm64 [\d.]+, which is not/);
  expect(status).toBe(1);
});

test('a lock file without a package that everybody needs is refused', () => {
  const { said, status } = complaintsAfter((packages) => {
    delete packages['node_modules/commander'];
  });
  expect(said).toContain('packages/cli needs commander ');
  expect(status).toBe(1);
});

test('a lock file that names the address of a registry is refused', () => {
  const address = 'https://registry.example/vitest.tgz';
  const { said, status } = complaintsAfter((packages) => {
    packages['node_modules/vitest'] = { ...packages['node_modules/vitest'], resolved: address };
  });
  expect(said).toContain(`node_modules/vitest is tied to ${address}`);
  expect(status).toBe(1);
});
