// Compiles the packages: `npm run build`. The shop of the demo is compiled into the command line, which runs it.
import { run } from './run.mjs';

const PROJECTS = [
  'packages/holdfast/tsconfig.build.json',
  'packages/cli/tsconfig.build.json',
  'packages/cli/tsconfig.inventory.json',
];

// In this order: each is compiled against what the one before it has made.
const isBuilt = PROJECTS.every((project) => run('node_modules/typescript/bin/tsc', ['-p', project]));
// Last: the others are compiled against declarations that a user cannot reach.
const isSlim = isBuilt && run('scripts/slim.mjs', ['packages/holdfast/dist', 'index', 'testing/index']);
if (!isSlim) process.exitCode = 1;
