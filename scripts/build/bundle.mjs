// The JavaScript of a package: one file for each entry, as an ES module and as CommonJS. Not minified, and with source maps that contain
// the sources, so that a stack trace leads a user to the line that threw.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { ROOT } from '../run.mjs';

/** The oldest supported Node: syntax that it understands is left as it is. */
const TARGET = 'node20.19';

/**
 * Rewrites the source paths in a source map, which are relative to the map. The package may be built in any folder;
 * its users see the sources in the package's own folder `src`.
 *
 * @param {string} file
 * @param {string} source the folder with the sources
 * @param {string} target the folder of the package
 */
function anchorMap(file, source, target) {
  const map = JSON.parse(readFileSync(file, 'utf8'));
  map.sources = map.sources.map((/** @type {string} */ path) => {
    const inPackage = join(target, 'src', relative(source, resolve(dirname(file), path)));
    return relative(dirname(file), inPackage).replaceAll('\\', '/');
  });
  writeFileSync(file, JSON.stringify(map));
}

/**
 * @param {string} source the folder with the sources
 * @param {string} target the folder of the package
 * @param {readonly string[]} entries the names of its entries: `index` and, for some packages, others
 */
export function bundle(source, target, entries) {
  for (const format of /** @type {const} */ (['esm', 'cjs'])) {
    const folder = join(target, 'dist', format);
    buildSync({
      entryPoints: entries.map((entry) => join(source, `${entry}.ts`)),
      // esbuild's comments name source files relative to this folder.
      absWorkingDir: dirname(source),
      outdir: folder,
      format,
      bundle: true,
      packages: 'external',
      // Not the settings beside the sources: those lead to the sources of other packages, which would be copied in.
      tsconfig: join(ROOT, 'tsconfig.base.json'),
      platform: 'node',
      target: TARGET,
      charset: 'utf8',
      sourcemap: true,
      sourcesContent: true,
      // Jest runs CommonJS in a context without `import()`. The only `import()` in the sources is of a CommonJS package.
      supported: { 'dynamic-import': format === 'esm' },
      logLevel: 'warning',
      // Where the sources ask for the folder that they are in, they ask for CommonJS's own name of it first.
      logOverride: { 'empty-import-meta': 'silent' },
    });
    for (const entry of entries) anchorMap(join(folder, `${entry}.js.map`), source, target);
  }
  // The package has "type": "module". This file says that the scripts and types beside it are CommonJS.
  mkdirSync(join(target, 'dist/cjs'), { recursive: true });
  writeFileSync(join(target, 'dist/cjs/package.json'), '{ "type": "commonjs" }\n');
}
