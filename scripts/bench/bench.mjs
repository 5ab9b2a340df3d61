// The benchmark: `npm run bench`; its options: `npm run bench -- --help`. Builds the library first, and with `--before`
// that of an earlier commit, so that what is measured is what users install.
import { parseArgs } from 'node:util';
import { run } from '../run.mjs';
import { buildWorker } from './build-worker.mjs';
import { packBefore } from './pack-before.mjs';

/** `bench/main.ts` reads every option; the others are none of ours here. */
const { values } = parseArgs({
  options: { before: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  strict: false,
});

function prepare() {
  const packages = ['packages/holdfast', 'packages/telemetry', 'packages/sql', 'packages/monitor'];
  const build = (/** @type {string} */ home) => run('scripts/build/package.mjs', [home, '--code']);
  if (!run('scripts/setup/setup.mjs') || !packages.every(build)) return false;
  buildWorker();
  // The help lists the scenarios, which import what they measure.
  if (values.help || typeof values.before !== 'string') return true;
  try {
    // bench/participants/before.ts reads it, in every process of the benchmark.
    process.env['HOLDFAST_BENCH_BEFORE'] = packBefore(values.before);
    return true;
  } catch (error) {
    console.error(`${values.before} could not be built: ${error instanceof Error ? error.message : error}`);
    return false;
  }
}

const isMeasured = prepare() && run('bench/main.ts', process.argv.slice(2), ['--import', 'tsx']);
process.exitCode = isMeasured ? 0 : 1;
