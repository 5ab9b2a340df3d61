// The program of a package: one file, once as an ES module and once as CommonJS. Readable, and with source maps that
// contain the sources: an error of a user's own process should lead to the line that threw it.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { ROOT } from '../run.mjs';

/** The oldest Node that the package is for: nothing is rewritten that it understands. */
const TARGET = 'node20.19';

/**
 * A map says where its sources are, seen from itself. The package may be built anywhere; to its users they are in its
 * folder `src`, wherever that would be.
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
 */
export function bundle(source, target) {
  for (const format of /** @type {const} */ (['esm', 'cjs'])) {
    const folder = join(target, 'dist', format);
    buildSync({
      entryPoints: [join(source, 'index.ts')],
      // Comments in what is built name the files seen from here.
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
      // Jest loads CommonJS in a context where `import()` does not work. Ours imports the Lua engine, a CommonJS package.
      supported: { 'dynamic-import': format === 'esm' },
      logLevel: 'warning',
    });
    anchorMap(join(folder, 'index.js.map'), source, target);
  }
  // The package itself is of ES modules. This says that the files beside it are none, and the types neither.
  mkdirSync(join(target, 'dist/cjs'), { recursive: true });
  writeFileSync(join(target, 'dist/cjs/package.json'), '{ "type": "commonjs" }\n');
}
