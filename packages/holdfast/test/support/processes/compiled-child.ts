/**
 * A child's file, compiled together with all of ours that it imports. A process that compiles itself takes most of a
 * second of a core before its first line, and the suite starts hundreds.
 *
 * The folder is this process's own: nobody sees a file half written, and what is compiled is what the sources say now.
 */
import { symlinkSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { makeGuardedFolder } from './process-guard.ts';

const PACKAGES = resolve(import.meta.dirname, '../../../../../node_modules');

const compiled = new Map<string, string>();

/** Where the compiled file is. */
export function compiledChild(file: string): string {
  const known = compiled.get(file);
  if (known !== undefined) return known;
  const folder = makeGuardedFolder('holdfast-child-');
  symlinkSync(PACKAGES, join(folder, 'node_modules'));
  buildSync({
    entryPoints: [file],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // What a child imports only when it needs it stays a file of its own.
    splitting: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    keepNames: true,
    sourcemap: true,
    logLevel: 'error',
  });
  const path = join(folder, basename(file).replace(/\.ts$/, '.mjs'));
  compiled.set(file, path);
  return path;
}
