// The worker program of the benchmark as one file of JavaScript. Scenarios start up to 32 worker processes at once, and
// each would spend most of its start on translating the same TypeScript.
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { ROOT } from '../run.mjs';

export function buildWorker() {
  buildSync({
    entryPoints: [join(ROOT, 'bench/workers/worker.ts')],
    // bench/workers/worker-process.ts starts it from there.
    outfile: join(ROOT, 'bench/out/worker.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // Also holdfast: without the paths of bench/tsconfig.json, the built package is loaded and not its sources.
    packages: 'external',
    tsconfigRaw: '{}',
  });
}
