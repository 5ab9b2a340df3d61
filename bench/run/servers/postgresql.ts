/** A PostgreSQL server for one run: advisory locks are in its memory, so that its disk does not matter. */
import { execFileSync, type SpawnOptions, spawnSync } from 'node:child_process';
import { chownSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, type RunningServer, startChildServer } from './child-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

const START_MS_MAX = 15_000;
/** One for each worker process, and some to spare. */
const CONNECTIONS_MAX = 100;
/** Debian installs the server here, a folder for each version, and not on the PATH. */
const DEBIAN_FOLDER = '/usr/lib/postgresql';

type Account = Pick<SpawnOptions, 'uid' | 'gid'>;

function programOf(name: string): string {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER) : [];
  const newestFirst = versions.toSorted((a, b) => Number(b) - Number(a));
  const paths = newestFirst.map((version) => join(DEBIAN_FOLDER, version, 'bin', name));
  return paths.find((path) => existsSync(path)) ?? name;
}

export function postgresqlVersion(): string | null {
  const { stdout } = spawnSync(programOf('postgres'), ['--version'], { encoding: 'utf8' });
  return /\(PostgreSQL\) (\S+)/.exec(stdout ?? '')?.[1] ?? null;
}

/** PostgreSQL refuses to run as root. Root runs it as the user of its package, or as nobody. */
function account(): Account {
  if (process.getuid?.() !== 0) return {};
  for (const user of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((option) => spawnSync('id', [option, user], { encoding: 'utf8' }));
    if (uid?.status === 0 && gid?.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error('expected a user postgres or nobody: PostgreSQL refuses to run as root');
}

export async function startPostgresql(): Promise<RunningServer> {
  const user = account();
  const folder = await temporaryFolder('postgresql');
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder.path, user.uid, user.gid);
  const data = join(folder.path, 'data');
  const initArgs = ['-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  // In its own folder: the user of PostgreSQL may have no right to enter the present one.
  const options = { cwd: folder.path, ...user };
  execFileSync(programOf('initdb'), initArgs, { stdio: 'ignore', ...options });
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: CONNECTIONS_MAX,
    fsync: 'off',
    autovacuum: 'off',
  };
  const server = await startChildServer({
    program: programOf('postgres'),
    args: [
      '-D',
      data,
      '-p',
      String(port),
      ...Object.entries(settings).map(([key, value]) => `--${key}=${value}`),
    ],
    port,
    startMsMax: START_MS_MAX,
    // An immediate shutdown, which also ends the processes of the connections and frees the shared memory.
    endSignal: 'SIGQUIT',
    options,
  });
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}
