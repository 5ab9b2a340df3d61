// Makes the library as users get it: `node scripts/package.mjs packages/holdfast`. The folder gets `dist` and `docs`; with
// `--code` only the programs, which takes a moment.
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundle } from './package/bundle.mjs';
import { declare } from './package/declarations.mjs';
import { copyPages } from './package/pages.mjs';
import { ROOT } from './run.mjs';

const HOME = 'packages/holdfast';

const [folder = '', ...options] = process.argv.slice(2);
if (folder === '') throw new Error('expected the folder of the package');
const target = resolve(ROOT, folder);
for (const made of ['dist', 'docs']) rmSync(join(target, made), { recursive: true, force: true });
bundle(join(ROOT, HOME, 'src'), target);
if (!options.includes('--code')) {
  copyPages(ROOT, HOME, target);
  if (!declare(join(HOME, 'tsconfig.build.json'), target)) process.exitCode = 1;
}
