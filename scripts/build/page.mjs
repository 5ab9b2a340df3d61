// The browser page of a package: `node scripts/build/page.mjs packages/monitor/page <folder>` writes the script and the
// style sheet under names with a hash of their content, `index.html` that asks for them, and `manifest.json` that lists
// the files and has a version: a hash of all. A server may let browsers keep the hashed files for ever. Beside them, not for
// serving: `licences.txt`.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { ROOT } from '../run.mjs';

/** Browsers of 2024 and later: all have `light-dark()` and nested CSS. */
const TARGET = ['chrome123', 'firefox121', 'safari17.5'];

/**
 * The licences of the packages whose code is in the page: they ask to be passed on with it.
 *
 * @param {readonly string[]} inputs paths of the files that were bundled
 */
function licences(inputs) {
  const names = inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  return [...new Set(names)].sort().map((name) => {
    const folder = join(ROOT, 'node_modules', name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`expected ${name} to have a licence, found none`);
    return `${name}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  });
}

/**
 * @param {string} source the folder with `main.tsx`, `main.css` and `index.html`
 * @param {string} target the folder to write to; what was in it is removed
 */
export function buildPage(source, target) {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const { outputFiles, metafile } = buildSync({
    entryPoints: { app: join(source, 'main.tsx'), style: join(source, 'main.css') },
    outdir: target,
    entryNames: 'app.[hash]',
    chunkNames: 'part.[hash]',
    metafile: true,
    // What only one page needs is fetched with that page.
    splitting: true,
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // Not the settings beside the sources: the page is also built where only the sources were copied.
    tsconfigRaw: '{}',
    absWorkingDir: ROOT,
    target: TARGET,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
  });
  const names = outputFiles.map(({ path, contents }) => {
    const name = basename(path);
    writeFileSync(join(target, name), contents);
    return name;
  });
  const entries = Object.entries(metafile.outputs).filter(([, { entryPoint = '' }]) =>
    /main\.(tsx|css)$/.test(entryPoint),
  );
  const find = (/** @type {string} */ ending) =>
    basename(entries.find(([path]) => path.endsWith(ending))?.[0] ?? '');
  const html = readFileSync(join(source, 'index.html'), 'utf8')
    .replace('app.js', find('.js'))
    .replace('app.css', find('.css'));
  writeFileSync(join(target, 'index.html'), html);
  writeFileSync(join(target, 'licences.txt'), licences(Object.keys(metafile.inputs)).join('\n---\n\n'));
  // The page names its script by a hash, the script its parts: a hash of the page is one of all.
  const version = createHash('sha256').update(html).digest('hex').slice(0, 16);
  const manifest = { version, files: ['index.html', ...names] };
  writeFileSync(join(target, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [source = '', target = ''] = process.argv.slice(2);
  if (source === '' || target === '')
    throw new Error('expected the folder of the page and a folder to write to');
  buildPage(resolve(ROOT, source), resolve(ROOT, target));
}
