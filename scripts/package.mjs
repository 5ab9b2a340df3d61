// Makes a package as users get it: `node scripts/package.mjs packages/holdfast`. Its folder, or another one that is named
// after it, gets `dist` and, for a package that ships them, `docs`; with `--code` only the programs, which takes a moment.
import { readFileSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { bundle } from './package/bundle.mjs';
import { declare } from './package/declarations.mjs';
import { copyPages } from './package/pages.mjs';
import { ROOT } from './run.mjs';

const args = process.argv.slice(2);
const [home = '', folder = home] = args.filter((arg) => !arg.startsWith('--'));
if (home === '') throw new Error('expected the folder of the package');
const target = resolve(ROOT, folder);
for (const made of ['dist', 'docs']) rmSync(join(target, made), { recursive: true, force: true });
bundle(join(ROOT, home, 'src'), target);
if (!args.includes('--code')) {
  const { files } = JSON.parse(readFileSync(join(ROOT, home, 'package.json'), 'utf8'));
  if (files.includes('docs')) copyPages(ROOT, home, target);
  if (!declare(join(home, 'tsconfig.build.json'), join(basename(home), 'src'), target)) process.exitCode = 1;
}
