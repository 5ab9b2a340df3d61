// Builds the packages: `npm run build`. The demo's shop is compiled into the command line, which runs it.
import { run } from '../run.mjs';

const PROJECTS = ['packages/cli/tsconfig.build.json', 'packages/cli/tsconfig.inventory.json'];

// In this order: each project is compiled against the output of the previous one.
const isBuilt =
  run('scripts/build/package.mjs', ['packages/holdfast']) &&
  PROJECTS.every((project) => run('node_modules/typescript/bin/tsc', ['-p', project]));
if (!isBuilt) process.exitCode = 1;
