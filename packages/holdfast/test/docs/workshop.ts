/** A folder in which the snippets and the examples are compiled and run, with the packages that a reader has. */
import { spawn } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { guardProcess, makeGuardedFolder } from '../support/reaper.ts';
import { ROOT } from './pages.ts';

/** Starting Node and the compiler takes a second, on a busy machine several. */
const RUN_LIMIT_MS = 30_000;
const DEFAULT_PORT = pathToFileURL(join(import.meta.dirname, 'fixtures/default-port.ts')).href;

export interface Ran {
  readonly code: number | null;
  /** Standard output and standard error, as they came. */
  readonly output: string;
}

export class Workshop {
  readonly #folder = makeGuardedFolder('holdfast-docs-');

  constructor() {
    symlinkSync(join(ROOT, 'node_modules'), join(this.#folder, 'node_modules'));
    this.write('package.json', JSON.stringify({ type: 'module' }));
    const compilerOptions = {
      rootDir: '/',
      // `holdfast` is what is being worked on, not what was built last.
      paths: { holdfast: [join(ROOT, 'packages/holdfast/src/index.ts')] },
      // As strict as a reader's own project is likely to be, and no stricter.
      noPropertyAccessFromIndexSignature: false,
      noUnusedLocals: false,
      allowJs: true,
      checkJs: true,
    };
    const include = ['*.ts', '*.js', join(ROOT, 'examples/**/*.ts')];
    const config = { extends: join(ROOT, 'tsconfig.base.json'), include, compilerOptions };
    this.write('tsconfig.json', JSON.stringify(config));
  }

  /** Gives the path of the file. */
  write(name: string, text: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, text);
    return path;
  }

  compile(): Promise<Ran> {
    return this.#run([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', this.#folder], {});
  }

  /** Runs a file; Redis at its default port is the one at this port. */
  run(file: string, redisPort: number, args: readonly string[] = []): Promise<Ran> {
    return this.#run(['--import', 'tsx', '--import', DEFAULT_PORT, file, ...args], {
      HOLDFAST_DOCS_PORT: `${redisPort}`,
      TSX_TSCONFIG_PATH: join(this.#folder, 'tsconfig.json'),
    });
  }

  #run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ran> {
    const child = spawn(process.execPath, args, {
      cwd: this.#folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    guardProcess(child);
    let output = '';
    const hear = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    const killer = setTimeout(() => {
      output += `\nkilled: it was still running after ${RUN_LIMIT_MS} ms\n`;
      child.kill('SIGKILL');
    }, RUN_LIMIT_MS);
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        clearTimeout(killer);
        resolve({ code, output });
      });
    });
  }
}
