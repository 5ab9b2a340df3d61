/**
 * Compiles the sources of the packages, one JavaScript file for each source file, so that V8 counts calls by source
 * file. Names of functions stay: nothing is bundled or minified, and no helper wraps a function.
 */
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

export const ROOT: string = fileURLToPath(new URL('../..', import.meta.url));
const CACHE = join(ROOT, '.cache/walk');

interface Package {
  readonly name: string;
  /** `packages/holdfast` */
  readonly folder: string;
}

export interface Build extends Disposable {
  readonly folder: string;
  /** The compiled file of a source file, both relative to the root: `packages/holdfast/src/index.ts`. */
  compiled(source: string): string;
}

function packagesOf(root: string): Package[] {
  return readdirSync(join(root, 'packages'))
    .map((name) => `packages/${name}`)
    .filter((folder) => existsSync(join(root, folder, 'src')))
    .map((folder) => {
      const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
      return { name: String(manifest.name), folder };
    });
}

function sourcesOf(root: string, { folder }: Package): string[] {
  const files = readdirSync(join(root, folder, 'src'), { recursive: true, encoding: 'utf8' });
  return files.filter((file) => file.endsWith('.ts')).map((file) => join(folder, 'src', file));
}

/** Points every import at the compiled file, and keeps imports of other packages as they are. */
function redirect(packages: readonly Package[], target: string): Plugin {
  return {
    name: 'redirect',
    setup({ onResolve }) {
      onResolve({ filter: /.*/ }, ({ kind, path }) => {
        if (kind === 'entry-point') return undefined;
        if (path.startsWith('.')) return { path: path.replace(/\.ts$/, '.js'), external: true };
        const own = packages.find(({ name }) => path === name || path.startsWith(`${name}/`));
        if (own === undefined) return { path, external: true };
        const subpath = path.slice(own.name.length + 1);
        return { path: join(target, own.folder, 'src', subpath, 'index.js'), external: true };
      });
    },
  };
}

export async function compileSources(): Promise<Build> {
  const folder = join(CACHE, String(process.pid));
  const packages = packagesOf(ROOT);
  await build({
    absWorkingDir: ROOT,
    entryPoints: packages.flatMap((each) => sourcesOf(ROOT, each)),
    outbase: ROOT,
    outdir: folder,
    // esbuild asks a plugin about imports only when it bundles; every import is then external.
    bundle: true,
    plugins: [redirect(packages, folder)],
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    logLevel: 'warning',
  });
  for (const each of packages) {
    const modules = join(ROOT, each.folder, 'node_modules');
    if (existsSync(modules)) symlinkSync(modules, join(folder, each.folder, 'node_modules'));
  }
  return {
    folder,
    compiled: (source) => join(folder, source.replace(/\.ts$/, '.js')),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
