/** Compiles an example of the repository with our packages as they are now, and runs it. */
import { spawn } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { guardProcess, makeGuardedFolder } from '../../../holdfast/test/support/processes/process-guard.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const LIMIT_MS = 120_000;

/** What an example prints. It must end with 0. */
export async function runExample(path: string, env: Readonly<Record<string, string>>): Promise<string> {
  const folder = makeGuardedFolder('holdfast-example-');
  mkdirSync(folder, { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const outfile = join(folder, 'main.mjs');
  buildSync({
    entryPoints: [join(ROOT, path)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: ['ioredis', 'pg'],
    alias: {
      holdfast: join(ROOT, 'packages/holdfast/src/index.ts'),
      'holdfast-sql': join(ROOT, 'packages/sql/src/index.ts'),
    },
    logLevel: 'error',
  });
  const child = spawn(process.execPath, ['--enable-source-maps', outfile], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  guardProcess(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  const killer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  const code = await new Promise((settle) => child.once('close', settle));
  clearTimeout(killer);
  if (code !== 0) throw new Error(`${path} ended with ${code}:\n${output}`);
  return output;
}
