// The simulator: `npm run simulate -- --seeds 1000 --from 1` runs a range of seeds, `--seed 7` shows one of them.
import { run } from './run.mjs';

const isFine = run('packages/holdfast/test/simulation/main.ts', process.argv.slice(2), ['--import', 'tsx']);
process.exitCode = isFine ? 0 : 1;
