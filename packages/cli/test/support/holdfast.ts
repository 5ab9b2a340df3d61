/** Runs `holdfast` as a user does: a real process, real signals, real exit codes. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { guardProcess } from '../../../holdfast/test/support/processes/process-guard.ts';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';
import { MAIN } from './built-cli.ts';

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Written to its standard input, which is then closed. By default it is closed at once. */
  readonly input?: string;
  readonly cwd?: string;
  /** Another Node than the one that runs the tests. */
  readonly node?: string;
}

export interface Ran {
  /** Of a process that was killed: 128 and the number of the signal would be the shell's word; here it is null. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly tookMs: number;
}

/** What the tests are run with must not change what is tested. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const dropped = /^(HOLDFAST_|REDIS_URL|NO_COLOR|FORCE_COLOR|CI$|VITEST|NODE_ENV|NODE_OPTIONS)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !dropped.test(name)));
}

export function environmentFor(env: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return { ...cleanEnvironment(), ...env };
}

export class Running {
  readonly ended: Promise<Ran>;
  readonly #child: ChildProcessWithoutNullStreams;
  #stdout = '';
  #stderr = '';

  constructor(args: readonly string[], { env, input, cwd, node = process.execPath }: StartOptions) {
    const startedMs = performance.now();
    this.#child = spawn(node, [MAIN, ...args], {
      env: environmentFor(env),
      stdio: 'pipe',
      ...(cwd === undefined ? {} : { cwd }),
    });
    guardProcess(this.#child);
    this.#child.stdout.on('data', (chunk: Buffer) => {
      this.#stdout += chunk.toString();
    });
    this.#child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr += chunk.toString();
    });
    this.#child.stdin.on('error', () => {});
    this.#child.stdin.end(input ?? '');
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (code, signal) => {
        const tookMs = performance.now() - startedMs;
        resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr, tookMs });
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Until it has written this to its standard output. */
  async says(text: string, limitMs = 90_000): Promise<void> {
    await waitFor(
      () => {
        if (!this.#stdout.includes(text))
          throw new Error(`it said ${JSON.stringify([this.#stdout, this.#stderr])}`);
        return true;
      },
      { what: JSON.stringify(text), limitMs },
    );
  }
}

export function start(args: readonly string[], options: StartOptions = {}): Running {
  return new Running(args, options);
}

export function holdfast(args: readonly string[], options: StartOptions = {}): Promise<Ran> {
  return start(args, options).ended;
}

const TRIES_MAX = 5;

/**
 * For a command that ends with what the server says. On a busy machine its answer may come too late, which is told as an
 * outage, rightly, and the command is run again.
 */
export async function answered(args: readonly string[], options: StartOptions = {}): Promise<Ran> {
  for (let tries = 1; ; tries += 1) {
    const ran = await holdfast(args, options);
    if (!/no answer within/.test(ran.stderr) || tries === TRIES_MAX) return ran;
  }
}
