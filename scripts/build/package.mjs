// Builds a package as users install it: `node scripts/build/package.mjs packages/holdfast` writes `dist` and, for a package
// that ships them, `docs` into that folder, or into another folder that is named after it. A package with a folder `page`
// gets its browser page in `dist/page`. `--code` writes the JavaScript only, which is much faster.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { ROOT } from '../run.mjs';
import { bundle } from './bundle.mjs';
import { declare } from './declarations.mjs';
import { buildPage } from './page.mjs';
import { copyPages } from './pages.mjs';

const args = process.argv.slice(2);
const [home = '', folder = home] = args.filter((arg) => !arg.startsWith('--'));
if (home === '') throw new Error('expected the folder of the package');
const target = resolve(ROOT, folder);
for (const made of ['dist', 'docs']) rmSync(join(target, made), { recursive: true, force: true });
const { exports, files } = JSON.parse(readFileSync(join(ROOT, home, 'package.json'), 'utf8'));
// `.` is the entry `index`, `./sync` the entry `sync`.
const entries = Object.keys(exports)
  .filter((name) => name !== './package.json')
  .map((name) => (name === '.' ? 'index' : name.slice(2)));
bundle(join(ROOT, home, 'src'), target, entries);
if (existsSync(join(ROOT, home, 'page'))) buildPage(join(ROOT, home, 'page'), join(target, 'dist/page'));
if (!args.includes('--code')) {
  if (files.includes('docs')) copyPages(ROOT, home, target);
  if (!declare(join(home, 'tsconfig.build.json'), join(basename(home), 'src'), target, entries))
    process.exitCode = 1;
}
