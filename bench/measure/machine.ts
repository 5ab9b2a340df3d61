/** The machine and the versions of a run, without anything that identifies the machine. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { otherServerVersions } from '../run/servers/servers.ts';

export interface Machine {
  readonly date: string;
  readonly node: string;
  readonly redis: string;
  /** Names and versions of the servers of other kinds that are installed. */
  readonly otherServers: readonly string[];
  readonly system: string;
  readonly cores: number;
  readonly processor: string;
  readonly memoryGb: number;
  /** The version of every package that took part. */
  readonly packages: Readonly<Record<string, string>>;
}

const require = createRequire(import.meta.url);

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function manifest(path: string): Manifest {
  return JSON.parse(readFileSync(path, 'utf8')) as Manifest;
}

/** Read from the folders of packages, because some packages do not export their manifest. */
function manifestOf(name: string): Manifest {
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      return manifest(`${folder}/${name}/package.json`);
    } catch {
      // The package is not in this folder: the next one is looked at.
    }
  }
  throw new Error(`expected ${name} to be installed`);
}

function packageVersions(): Record<string, string> {
  const { dependencies = {} } = manifest(require.resolve('../package.json'));
  return Object.fromEntries(
    Object.keys(dependencies).map((name) => [name, String(manifestOf(name).version).replace(/^v/, '')]),
  );
}

export function describeMachine(): Machine {
  const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    redis: /v=(\S+)/.exec(stdout)?.[1] ?? 'unknown',
    otherServers: otherServerVersions(),
    system: `${process.platform} ${process.arch}`,
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    packages: packageVersions(),
  };
}
