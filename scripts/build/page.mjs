// The browser page of a package: `node scripts/build/page.mjs packages/monitor/page <folder>` writes the script and the
// style sheet under names with a hash of their content, `index.html` that asks for them, and `manifest.json` that lists
// every file with its media type. A server may let browsers keep the hashed files for ever.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { ROOT } from '../run.mjs';

/** Browsers of 2024 and later: all have `light-dark()` and nested CSS. */
const TARGET = ['chrome123', 'firefox121', 'safari17.5'];

/** @type {Readonly<Record<string, string>>} */
const TYPES = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
};

/**
 * @param {string} name
 * @param {boolean} isImmutable
 */
function entry(name, isImmutable) {
  return { name, type: TYPES[name.slice(name.lastIndexOf('.'))] ?? 'application/octet-stream', isImmutable };
}

/**
 * @param {string} source the folder with `main.tsx`, `main.css` and `index.html`
 * @param {string} target the folder to write to; what was in it is removed
 */
export function buildPage(source, target) {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const { outputFiles } = buildSync({
    entryPoints: { app: join(source, 'main.tsx'), style: join(source, 'main.css') },
    outdir: target,
    entryNames: 'app.[hash]',
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
  const find = (/** @type {string} */ ending) => names.find((name) => name.endsWith(ending)) ?? '';
  const html = readFileSync(join(source, 'index.html'), 'utf8')
    .replace('app.js', find('.js'))
    .replace('app.css', find('.css'));
  writeFileSync(join(target, 'index.html'), html);
  const files = [entry('index.html', false), ...names.map((name) => entry(name, true))];
  writeFileSync(join(target, 'manifest.json'), `${JSON.stringify({ files }, null, 2)}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [source = '', target = ''] = process.argv.slice(2);
  if (source === '' || target === '') throw new Error('expected the folder of the page and a folder to write to');
  buildPage(resolve(ROOT, source), resolve(ROOT, target));
}
