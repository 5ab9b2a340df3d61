/**
 * A folder in which snippets and examples are compiled and run as a reader would: with the Redis clients installed,
 * and with our libraries, compiled from their present source, as packages beside them.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { guardProcess, makeGuardedFolder } from '../support/processes/process-guard.ts';
import { ROOT } from './pages.ts';

const COMPILE_LIMIT_MS = 110_000;
const RUN_LIMIT_MS = 60_000;
const PRELOAD = join(import.meta.dirname, 'fixtures/default-port.ts');
const LIBRARIES = {
  holdfast: 'packages/holdfast',
  'holdfast-monitor': 'packages/monitor',
  'holdfast-sql': 'packages/sql',
  'holdfast-telemetry': 'packages/telemetry',
  'holdfast-testing': 'packages/testing',
};
/** What the pages use of a module that the types of the oldest supported Node do not know. */
const SQLITE_TYPES = `declare module 'node:sqlite' {
  export class DatabaseSync {
    constructor(path: string);
    exec(sql: string): void;
    prepare(sql: string): { all(...params: unknown[]): unknown[]; run(...params: unknown[]): unknown };
    readonly isTransaction: boolean;
  }
}
`;

/** What Jest gives to a test, as far as the pages use it. */
const JEST_TYPES = `declare function test(title: string, body: () => unknown): void;
declare function expect(actual: unknown): { toBe(expected: unknown): void };
`;

const EXPORTS = { '.': './src/index.js', './*': './src/*.js' };

export interface Ran {
  readonly code: number | null;
  /** Standard output and standard error, as they came. */
  readonly output: string;
}

export interface Running {
  /** What it has printed so far. */
  printed(): string;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ran>;
}

export class Workshop {
  readonly #folder = makeGuardedFolder('holdfast-docs-');

  constructor() {
    this.#installPackages();
    writeFileSync(join(this.#folder, 'package.json'), JSON.stringify({ type: 'module' }));
    writeFileSync(join(this.#folder, 'node-sqlite.d.ts'), SQLITE_TYPES);
    writeFileSync(join(this.#folder, 'jest.d.ts'), JEST_TYPES);
    const compilerOptions = {
      noEmit: false,
      rootDir: '/',
      outDir: join(this.#folder, 'out'),
      // For the compiler too our libraries are what is being worked on, not what was built last.
      paths: {
        holdfast: [join(ROOT, 'packages/holdfast/src/index.ts')],
        'holdfast-monitor': [join(ROOT, 'packages/monitor/src/index.ts')],
        'holdfast-sql': [join(ROOT, 'packages/sql/src/index.ts')],
        'holdfast-sql/sync': [join(ROOT, 'packages/sql/src/sync.ts')],
        'holdfast-telemetry': [join(ROOT, 'packages/telemetry/src/index.ts')],
        'holdfast-testing': [join(ROOT, 'packages/testing/src/index.ts')],
      },
      // As strict as a reader's own project is likely to be.
      noPropertyAccessFromIndexSignature: false,
      noUnusedLocals: false,
      allowJs: true,
      checkJs: true,
    };
    const include = ['*.ts', '*.js', '*.cjs', join(ROOT, 'examples/**/*.ts'), PRELOAD];
    const config = { extends: join(ROOT, 'tsconfig.base.json'), include, compilerOptions };
    writeFileSync(join(this.#folder, 'tsconfig.json'), JSON.stringify(config));
  }

  /** Gives the full path of the file. */
  write(name: string, text: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, text);
    return path;
  }

  /** Compiles all that was written, and the examples. What it says is what is wrong. */
  compile(): Promise<Ran> {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    return this.#start([tsc, '-p', this.#folder], {}, COMPILE_LIMIT_MS).ended;
  }

  /** Runs a file that was compiled. For it, Redis at its default port is the one at this port; so is a cluster. */
  start(file: string, redisPort: number, clusterPort = 0): Running {
    const args = ['--import', this.#compiled(PRELOAD), this.#compiled(file)];
    const env = { HOLDFAST_DOCS_PORT: `${redisPort}`, HOLDFAST_DOCS_CLUSTER_PORT: `${clusterPort}` };
    return this.#start(args, env, RUN_LIMIT_MS);
  }

  #compiled(file: string): string {
    return join(this.#folder, 'out', file.replace(/\.ts$/, '.js'));
  }

  #installPackages(): void {
    const packages = join(this.#folder, 'node_modules');
    mkdirSync(packages);
    for (const name of readdirSync(join(ROOT, 'node_modules'))) {
      if (!(name in LIBRARIES)) symlinkSync(join(ROOT, 'node_modules', name), join(packages, name));
    }
    for (const [name, home] of Object.entries(LIBRARIES)) {
      const own = this.#compiled(join(ROOT, home));
      mkdirSync(own, { recursive: true });
      writeFileSync(join(own, 'package.json'), JSON.stringify({ type: 'module', exports: EXPORTS }));
      symlinkSync(own, join(packages, name));
    }
  }

  #start(args: readonly string[], env: Readonly<Record<string, string>>, limitMs: number): Running {
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
      output += `\nkilled: it was still running after ${limitMs} ms\n`;
      child.kill('SIGKILL');
    }, limitMs);
    const ended = new Promise<Ran>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        clearTimeout(killer);
        resolve({ code, output });
      });
    });
    return { printed: () => output, kill: (signal) => void child.kill(signal), ended };
  }
}
