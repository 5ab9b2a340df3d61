/** The packages as users get them: built, packed, and installed into an empty folder. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
/** Where the tools are, and the clients. */
export const MODULES: string = join(ROOT, 'node_modules');

const run = promisify(execFile);

/** What npm says of a tarball that it has made. */
export interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** What a program prints, run by this Node or another runtime. */
export async function printed(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await run(command, [...args], { cwd }).catch((error) => {
    throw new Error(
      `${command} ${args.join(' ')} failed:\n${error.stdout ?? ''}${error.stderr ?? String(error)}`,
    );
  });
  return stdout;
}

/** Builds a package and packs it into the folder. */
async function pack(home: string, folder: string): Promise<Packed> {
  const draft = join(folder, 'draft');
  await mkdir(draft);
  for (const name of ['package.json', 'README.md', 'LICENSE', 'lua', 'schemas', 'sql']) {
    const file = join(ROOT, home, name);
    if (existsSync(file)) await cp(file, join(draft, name), { recursive: true });
  }
  await printed(process.execPath, [join(ROOT, 'scripts/build/package.mjs'), home, draft], ROOT);
  const said = await printed('npm', ['pack', '--json', '--pack-destination', folder], draft);
  await rm(draft, { recursive: true });
  const [packed] = JSON.parse(said) as Packed[];
  if (packed === undefined) throw new Error(`npm packed nothing: ${said}`);
  return packed;
}

/** Installs holdfast into the folder, with links to these packages beside it. */
export async function installPackage(folder: string, beside: readonly string[]): Promise<Packed> {
  const packed = await pack('packages/holdfast', folder);
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  const install = ['install', '--offline', '--no-audit', '--no-fund', `./${packed.filename}`];
  await printed('npm', install, folder);
  for (const name of beside) await symlink(join(MODULES, name), join(folder, 'node_modules', name));
  return packed;
}

/**
 * Installs a package beside holdfast. Unpacked by hand, with links to what it needs: npm would ask the registry for that.
 */
async function installBeside(folder: string, name: string, needs: readonly string[]): Promise<Packed> {
  const packed = await pack(`packages/${name}`, folder);
  const modules = join(folder, 'node_modules');
  const home = join(modules, `holdfast-${name}`);
  await mkdir(home);
  await printed('tar', ['-xzf', join(folder, packed.filename), '-C', home, '--strip-components=1'], folder);
  for (const need of needs) {
    await mkdir(dirname(join(modules, need)), { recursive: true });
    await symlink(join(MODULES, need), join(modules, need));
  }
  return packed;
}

/** Installs holdfast and the monitor beside it. */
export async function installMonitor(folder: string): Promise<Packed> {
  await installPackage(folder, []);
  return await installBeside(folder, 'monitor', ['ioredis', 'jsonc-parser', 'nodemailer']);
}

/** Beside holdfast, which is in the folder. */
export function installTesting(folder: string): Promise<Packed> {
  return installBeside(folder, 'testing', ['wasmoon-lua5.1']);
}

/** Beside holdfast, which is in the folder. */
export function installTelemetry(folder: string): Promise<Packed> {
  return installBeside(folder, 'telemetry', ['@opentelemetry/api', 'prom-client']);
}

/** Installs holdfast-sql into the folder, alone: its peer is optional. */
export async function installSql(folder: string): Promise<Packed> {
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  const packed = await pack('packages/sql', folder);
  const home = join(folder, 'node_modules/holdfast-sql');
  await mkdir(home, { recursive: true });
  await printed('tar', ['-xzf', join(folder, packed.filename), '-C', home, '--strip-components=1'], folder);
  return packed;
}
