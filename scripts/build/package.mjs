// Builds the library as users install it: `node scripts/build/package.mjs packages/holdfast` writes `dist` and `docs` into
// that folder. `--code` writes the JavaScript only, which is much faster.
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ROOT } from '../run.mjs';
import { bundle } from './bundle.mjs';
import { declare } from './declarations.mjs';
import { copyPages } from './pages.mjs';

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
