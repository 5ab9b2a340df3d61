// Plays seeds in the simulated world: `npm run simulate -- --seeds 1000 --from 1`, or `--seed 7` to see one of them.
import { run } from './run.mjs';

const isFine = run('packages/holdfast/test/simulation/main.ts', process.argv.slice(2), ['--import', 'tsx']);
process.exitCode = isFine ? 0 : 1;
