/** The servers that tests can start: the one on the path, and those that `npm run servers` has fetched. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface ServerProgram {
  /** `Valkey 8.0.1` */
  readonly title: string;
  readonly command: readonly string[];
}

const FOLDER =
  process.env['HOLDFAST_SERVERS'] ?? fileURLToPath(new URL('../../../../../.cache/servers', import.meta.url));

/** What `HOLDFAST_SERVER` names, for a run of any test on another server; otherwise the one on the path. */
export const USUAL_SERVER: ServerProgram = usual(process.env['HOLDFAST_SERVER'] ?? '');

/** Those that were fetched, by the names of their folders. */
export function fetchedServers(): readonly ServerProgram[] {
  const names = existsSync(FOLDER) ? readdirSync(FOLDER).sort() : [];
  return names.filter((name) => existsSync(join(FOLDER, name, 'server.json'))).map(read);
}

function usual(name: string): ServerProgram {
  return name === '' ? { title: 'redis-server', command: ['redis-server'] } : read(name);
}

function read(name: string): ServerProgram {
  // Written by scripts/setup/servers.mjs.
  const told = JSON.parse(readFileSync(join(FOLDER, name, 'server.json'), 'utf8')) as {
    readonly program: string;
    readonly version: string;
    readonly command: readonly string[];
  };
  const product = told.program === 'valkey' ? 'Valkey' : 'Redis';
  return { title: `${product} ${told.version}`, command: told.command };
}
