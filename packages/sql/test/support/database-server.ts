/**
 * A real PostgreSQL or MariaDB for a test file: its own folder, its own port, data that nobody wants to keep. It ends with
 * the file; where it is not installed, its tests are left out with a word.
 */
import { type ChildProcess, execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { chownSync, cpSync, existsSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { needs } from '../../../holdfast/test/support/needs.ts';
import {
  guardProcess,
  makeGuardedFolder,
  removeGuardedFolder,
} from '../../../holdfast/test/support/processes/process-guard.ts';
import { freePort } from '../../../holdfast/test/support/servers/free-port.ts';

const START_LIMIT_MS = 90_000;
const START_POLL_MS = 20;
const START_TRIES_MAX = 5;
const STOP_LIMIT_MS = 10_000;

export type Brand = 'postgresql' | 'mariadb';

interface Program {
  readonly title: string;
  /** Null where it is not installed. */
  path(): string | null;
  /** Fills a folder with an empty database. */
  prepare(folder: string): void;
  args(folder: string, port: number): string[];
  options(): SpawnOptions;
  /** Ends it at once, with its child processes and its shared memory. */
  readonly endSignal: NodeJS.Signals;
}

/** Debian installs PostgreSQL here, a folder for each version, and not on the PATH. */
const DEBIAN_POSTGRESQL = '/usr/lib/postgresql';

function postgresqlProgram(name: string): string | null {
  const versions = existsSync(DEBIAN_POSTGRESQL) ? readdirSync(DEBIAN_POSTGRESQL) : [];
  const newestFirst = versions.sort((a, b) => Number(b) - Number(a));
  const paths = newestFirst.map((version) => join(DEBIAN_POSTGRESQL, version, 'bin', name));
  const found = paths.find((path) => existsSync(path));
  if (found !== undefined) return found;
  return spawnSync(name, ['--version']).status === 0 ? name : null;
}

/** PostgreSQL refuses to run as root. Root runs it as the user of its package, or as nobody. */
function postgresqlAccount(): Pick<SpawnOptions, 'uid' | 'gid'> {
  if (process.getuid?.() !== 0) return {};
  for (const user of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((option) => spawnSync('id', [option, user], { encoding: 'utf8' }));
    if (uid?.status === 0 && gid?.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error('expected a user postgres or nobody: PostgreSQL refuses to run as root');
}

const postgresql: Program = {
  title: 'PostgreSQL',
  path: () => (postgresqlProgram('initdb') === null ? null : postgresqlProgram('postgres')),
  prepare(folder) {
    const account = postgresqlAccount();
    if (account.uid !== undefined && account.gid !== undefined) chownSync(folder, account.uid, account.gid);
    const args = ['-D', join(folder, 'data'), '-U', 'test', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
    // Not C: names must be compared by bytes whatever the language of the database is.
    const locale = ['--locale=C.UTF-8'];
    execFileSync(postgresqlProgram('initdb') ?? '', [...args, ...locale], {
      stdio: 'pipe',
      cwd: folder,
      ...account,
    });
  },
  args: (folder, port) => [
    '-D',
    join(folder, 'data'),
    '-p',
    String(port),
    ...['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=60', 'fsync=off'].map(
      (setting) => `--${setting}`,
    ),
  ],
  options: () => postgresqlAccount(),
  endSignal: 'SIGQUIT',
};

const MARIADB_PATHS = ['/usr/sbin/mariadbd', '/usr/libexec/mariadbd', '/usr/local/sbin/mariadbd'];

const mariadb: Program = {
  title: 'MariaDB',
  path: () =>
    MARIADB_PATHS.find((path) => existsSync(path)) ??
    (spawnSync('mariadbd', ['--version']).status === 0 ? 'mariadbd' : null),
  // It makes its files itself; without users it needs no system tables.
  prepare: () => {},
  args: (folder, port) => [
    '--no-defaults',
    `--datadir=${folder}`,
    `--port=${port}`,
    `--socket=${join(folder, 'socket')}`,
    ...(process.getuid?.() === 0 ? ['--user=root'] : []),
    '--bind-address=127.0.0.1',
    '--skip-grant-tables',
    '--innodb-flush-log-at-trx-commit=0',
    '--innodb-log-file-size=8M',
    '--innodb-buffer-pool-size=32M',
  ],
  options: () => ({}),
  endSignal: 'SIGKILL',
};

const PROGRAMS: Readonly<Record<Brand, Program>> = { postgresql, mariadb };

/** Whether the server is there. Where `CI` is set and it is not, this is a failure. */
export function hasServer(brand: Brand): boolean {
  const { title, path } = PROGRAMS[brand];
  return needs(title, path() !== null, `what holdfast-sql does on ${title}`);
}

/** An empty database, made once: a copy is faster than a new one. */
const templates = new Map<Brand, string>();

function newFolder(brand: Brand): string {
  let template = templates.get(brand);
  if (template === undefined) {
    template = makeGuardedFolder(`holdfast-${brand}-template-`);
    PROGRAMS[brand].prepare(template);
    templates.set(brand, template);
  }
  const folder = makeGuardedFolder(`holdfast-${brand}-`);
  const { uid, gid } = PROGRAMS[brand].options();
  if (readdirSync(template).length > 0) {
    if (uid === undefined) cpSync(template, folder, { recursive: true });
    else execFileSync('cp', ['-a', `${template}/.`, folder]);
  }
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

export class DatabaseServer {
  readonly brand: Brand;
  #port = 0;
  #folder = '';
  #child: ChildProcess | null = null;
  #output = '';

  constructor(brand: Brand) {
    this.brand = brand;
  }

  get port(): number {
    if (this.#port === 0)
      throw new Error(`the ${this.brand} of this file is not started yet: ask inside a test`);
    return this.#port;
  }

  async start(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      this.#folder = newFolder(this.brand);
      this.#port = await freePort();
      if (await this.#launch()) return;
      await this.stop();
      if (tries === START_TRIES_MAX) throw new Error(`${this.brand} did not start:\n${this.#output}`);
    }
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      child.kill(PROGRAMS[this.brand].endSignal);
      const killer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
      await ended;
      clearTimeout(killer);
    }
    this.#child = null;
    removeGuardedFolder(this.#folder);
  }

  async #launch(): Promise<boolean> {
    const program = PROGRAMS[this.brand];
    const child = spawn(program.path() ?? '', program.args(this.#folder, this.#port), {
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      ...program.options(),
    });
    this.#child = child;
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#output += chunk.toString();
    });
    child.on('error', (error) => {
      this.#output += error.message;
    });
    guardProcess(child);
    child.unref();
    for (const deadline = performance.now() + START_LIMIT_MS; performance.now() < deadline; ) {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return false;
      if (/ready (to accept|for) connections/.test(this.#output) && (await answers(this.#port))) return true;
      await sleep(START_POLL_MS);
    }
    return false;
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const settle = (isUp: boolean): void => {
      socket.destroy();
      resolve(isUp);
    };
    socket.once('connect', () => settle(true)).once('error', () => settle(false));
  });
}
