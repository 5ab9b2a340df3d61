/**
 * Tools that users have and we do not work with: Jest and older compilers. They are installed as their own lock file says, once
 * for each state of it, and not with our own: whoever only wants to see the demo should not wait for them.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { printed } from '../package/installed-package.ts';

const LISTS = join(import.meta.dirname, 'tools');
const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const FILES = ['package.json', 'package-lock.json'];

/** Where their packages are. */
export async function compatTools(): Promise<string> {
  const lock = await readFile(join(LISTS, 'package-lock.json'));
  const hash = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const folder = join(ROOT, '.cache/compat', hash);
  if (!existsSync(folder)) await install(folder);
  return join(folder, 'node_modules');
}

/** Another test file may be at it at the same time: whoever is first puts it in place. */
async function install(folder: string): Promise<void> {
  const draft = `${folder}-${process.pid}`;
  await mkdir(draft, { recursive: true });
  for (const file of FILES) await copyFile(join(LISTS, file), join(draft, file));
  // None of them needs its script: what they bring for this platform is a package of its own.
  await printed('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], draft);
  await rename(draft, folder).catch(() => rm(draft, { recursive: true, force: true }));
}
