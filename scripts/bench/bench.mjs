// Measures: `npm run bench`. The library is built first, so that what is measured is what users install.
import { run } from '../run.mjs';

const isReady = run('scripts/setup/setup.mjs') && run('scripts/build/package.mjs', ['packages/holdfast', '--code']);
const isMeasured = isReady && run('bench/main.ts', process.argv.slice(2), ['--import', 'tsx']);
process.exitCode = isMeasured ? 0 : 1;
