/** The package as users get it: built, packed, and installed into an empty folder. */
import { execFile } from 'node:child_process';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));
const ROOT = join(PACKAGE, '../..');
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

/** Installs it into the folder, with links to these packages beside it. */
export async function installPackage(folder: string, beside: readonly string[]): Promise<Packed> {
  const draft = join(folder, 'draft');
  await mkdir(draft);
  for (const name of ['package.json', 'README.md', 'LICENSE', 'lua']) {
    await cp(join(PACKAGE, name), join(draft, name), { recursive: true });
  }
  await printed(process.execPath, [join(ROOT, 'scripts/build/package.mjs'), draft], ROOT);
  const said = await printed('npm', ['pack', '--json', '--pack-destination', folder], draft);
  const [packed] = JSON.parse(said) as Packed[];
  if (packed === undefined) throw new Error(`npm packed nothing: ${said}`);
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  const install = ['install', '--offline', '--no-audit', '--no-fund', `./${packed.filename}`];
  await printed('npm', install, folder);
  for (const name of beside) await symlink(join(MODULES, name), join(folder, 'node_modules', name));
  return packed;
}
