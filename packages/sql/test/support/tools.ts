/**
 * Packages that are not in the lock file of the repository, because `npm ci` must work everywhere: better-sqlite3 needs a native
 * build, and Prisma brings engines. They are installed as their own lock file says, once for each state of it.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

const LISTS = resolve(import.meta.dirname, '../tools');
const ROOT = resolve(import.meta.dirname, '../../../..');
const STEP_LIMIT_MS = 600_000;

/** `npm run test:sql -- --tools` asks for them: they take minutes to install. */
export const isAsked: boolean = process.env['HOLDFAST_SQL_TOOLS'] === '1';

function run(
  folder: string,
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): void {
  const options = {
    cwd: folder,
    encoding: 'utf8',
    timeout: STEP_LIMIT_MS,
    env: { ...process.env, ...env },
  } as const;
  const { status, stdout, stderr } = spawnSync(command, args, options);
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`);
}

/** Where they are. */
export function installTools(): string {
  const hash = createHash('sha256');
  for (const file of ['package-lock.json', 'schema.prisma']) hash.update(readFileSync(join(LISTS, file)));
  const folder = join(
    ROOT,
    '.cache/sql-tools',
    `${hash.digest('hex').slice(0, 16)}-${process.versions.modules}`,
  );
  if (existsSync(folder)) return folder;
  const draft = `${folder}-${process.pid}`;
  mkdirSync(draft, { recursive: true });
  cpSync(LISTS, draft, { recursive: true });
  try {
    run(draft, 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']);
    // The schema engine is only for migrations, and `generate` asks for it all the same.
    const env = { PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true', CHECKPOINT_DISABLE: '1' };
    run(draft, 'npx', ['prisma', 'generate', '--schema', 'schema.prisma'], env);
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
  return folder;
}

/** The module of better-sqlite3, or why it cannot be built here. */
export function buildBetterSqlite(
  folder: string,
): { readonly module: string } | { readonly failure: string } {
  const home = join(folder, 'node_modules/better-sqlite3');
  try {
    if (!existsSync(join(home, 'build/Release/better_sqlite3.node')))
      run(folder, 'npm', ['rebuild', 'better-sqlite3']);
    return { module: join(home, 'lib/index.js') };
  } catch (error) {
    return { failure: String(error) };
  }
}
