// Builds the packages: `npm run build`. The shop of the demo is compiled into the command line, which runs it.
import { run } from './run.mjs';

const PROJECTS = ['packages/cli/tsconfig.build.json', 'packages/cli/tsconfig.inventory.json'];

// In this order: each is compiled against what the one before it has made.
const isBuilt =
  run('scripts/package.mjs', ['packages/holdfast']) &&
  PROJECTS.every((project) => run('node_modules/typescript/bin/tsc', ['-p', project]));
if (!isBuilt) process.exitCode = 1;
