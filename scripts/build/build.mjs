// Builds the packages: `npm run build`. The demo's shop is compiled into the command line, which runs it.
import { run } from '../run.mjs';

const LIBRARIES = ['holdfast', 'testing', 'telemetry', 'sql', 'monitor'].map((name) => `packages/${name}`);
const PROJECTS = ['packages/cli/tsconfig.build.json', 'packages/cli/tsconfig.inventory.json'];

// In this order: the command line is compiled against the libraries as they were built.
const isBuilt =
  LIBRARIES.every((library) => run('scripts/build/package.mjs', [library])) &&
  PROJECTS.every((project) => run('node_modules/typescript/bin/tsc', ['-p', project]));
if (!isBuilt) process.exitCode = 1;
