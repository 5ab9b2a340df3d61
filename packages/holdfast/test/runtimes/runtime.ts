/** The runtimes that tests can start: this Node, and in the matrix those that `npm run runtimes` has fetched. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Extent, rowsOf } from '../support/extent.ts';

export interface Runtime extends Extent {
  /** `Node 24.21.0` */
  readonly title: string;
  readonly command: readonly string[];
}

const FOLDER =
  process.env['HOLDFAST_RUNTIMES'] ?? fileURLToPath(new URL('../../../../.cache/runtimes', import.meta.url));

export function runtimes(): readonly Runtime[] {
  const usual: Runtime = { title: `Node ${process.versions.node}`, command: [process.execPath] };
  const names = existsSync(FOLDER) ? readdirSync(FOLDER).sort() : [];
  const fetched = names.filter((name) => existsSync(join(FOLDER, name, 'runtime.json'))).map(read);
  return rowsOf([usual, ...fetched]);
}

function read(name: string): Runtime {
  // Written by scripts/setup/runtimes.mjs.
  const told = readFileSync(join(FOLDER, name, 'runtime.json'), 'utf8');
  return { ...(JSON.parse(told) as Runtime), isMatrix: true };
}
