/** Another real process that talks in lines of JSON: one of our TypeScript files under Node, or any program. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { resolve as resolvePath } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll } from 'vitest';
import { compiledChild } from './compiled-child.ts';
import { guardProcess } from './process-guard.ts';

/** A relative file means one of this package's. */
const PACKAGE_DIR = resolvePath(import.meta.dirname, '../../..');
/** A process takes its time to start on a busy machine. */
const NEXT_LIMIT_MS = 120_000;

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface Listener<Line> {
  readonly offer: (line: Line) => boolean;
  readonly fail: (why: string) => void;
}

const children = new Set<Pick<Child<unknown>, 'kill'>>();

export class Child<Line> {
  /** Resolves when the process has ended and all it said is in `lines` and `stderr`. */
  readonly exited: Promise<ChildExit>;
  /** Every line it wrote that was JSON, oldest first. */
  readonly lines: readonly Line[];
  readonly #name: string;
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #unread: Line[] = [];
  readonly #listeners = new Set<Listener<Line>>();
  #stderr = '';
  #exit: ChildExit | null = null;

  constructor(name: string, command: readonly string[], env: Readonly<Record<string, string>>) {
    this.#name = name;
    const [program = '', ...args] = command;
    this.#process = spawn(program, args, {
      cwd: PACKAGE_DIR,
      env: { ...process.env, ...env },
      stdio: 'pipe',
    });
    guardProcess(this.#process);
    const lines: Line[] = [];
    this.lines = lines;
    createInterface({ input: this.#process.stdout }).on('line', (text) => this.#hear(text, lines));
    this.#process.stderr.on('data', (chunk: Buffer) => {
      this.#stderr += chunk.toString();
    });
    // A child that is gone cannot be written to; `exited` says so.
    this.#process.stdin.on('error', () => {});
    this.exited = new Promise((resolve) => {
      this.#process.once('error', (error) => {
        this.#stderr += error.message;
      });
      this.#process.once('close', (code, signal) => {
        this.#exit = { code, signal };
        for (const listener of this.#listeners) listener.fail('ended first');
        resolve(this.#exit);
      });
    });
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  get isRunning(): boolean {
    return this.#exit === null;
  }

  /** Also what it wrote to standard output that was not JSON. */
  get stderr(): string {
    return this.#stderr;
  }

  send(message: unknown): void {
    this.#process.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /**
   * The oldest unread line that fits, waiting for one if need be. It counts as read; lines passed over do not.
   * Rejects, with what the child wrote to standard error, when the child ends first or the limit passes.
   */
  next(fits: (line: Line) => boolean = () => true, limitMs = NEXT_LIMIT_MS): Promise<Line> {
    const index = this.#unread.findIndex(fits);
    if (index >= 0) return Promise.resolve(this.#unread.splice(index, 1)[0] as Line);
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.#listeners.delete(listener);
      };
      const listener: Listener<Line> = {
        offer: (line) => {
          if (!fits(line)) return false;
          settle();
          resolve(line);
          return true;
        },
        fail: (why) => {
          settle();
          reject(new Error(`waited for a line that fits ${fits}, but ${this.#describe(why)}`));
        },
      };
      const timer = setTimeout(() => listener.fail(`said nothing like it within ${limitMs} ms`), limitMs);
      this.#listeners.add(listener);
      if (this.#exit !== null) listener.fail('ended first');
    });
  }

  /** Sends a signal and gives the end that may follow from it. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<ChildExit> {
    this.#process.kill(signal);
    return this.exited;
  }

  /** Stops it in its tracks. */
  stop(): void {
    this.#process.kill('SIGSTOP');
  }

  cont(): void {
    this.#process.kill('SIGCONT');
  }

  /** Closes its standard input. */
  endInput(): void {
    this.#process.stdin.end();
  }

  #hear(text: string, lines: Line[]): void {
    let line: Line;
    try {
      // What a child says is agreed with its file, not checked here.
      line = JSON.parse(text) as Line;
    } catch {
      this.#stderr += `${text}\n`;
      return;
    }
    lines.push(line);
    for (const listener of this.#listeners) if (listener.offer(line)) return;
    this.#unread.push(line);
  }

  #describe(why: string): string {
    const end = this.#exit === null ? '' : ` with ${this.#exit.signal ?? `code ${this.#exit.code}`}`;
    return `"${this.#name}" ${why}${end}; it said ${JSON.stringify(this.lines)}\n${this.#stderr}`;
  }
}

/** Starts a file, given from the package's folder or in full, as a process of its own. */
export function startChild<Line = Record<string, unknown>>(
  file: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Child<Line> {
  const path = compiledChild(resolvePath(PACKAGE_DIR, file));
  const command = [process.execPath, '--enable-source-maps', path, ...args];
  return started(new Child<Line>(`${file} ${args.join(' ')}`.trim(), command, env));
}

/** Starts any program as a process of its own. What it says is JSON all the same. */
export function startProgram<Line = Record<string, unknown>>(
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Child<Line> {
  return started(new Child<Line>(command.join(' '), command, env));
}

function started<Line>(child: Child<Line>): Child<Line> {
  children.add(child);
  void child.exited.then(() => children.delete(child));
  return child;
}

async function killAllChildren(): Promise<void> {
  await Promise.all([...children].map((child) => child.kill('SIGKILL')));
}

/** Kills the children that the tests of this file left behind, frozen ones included. */
export function useChildren(): void {
  afterAll(killAllChildren);
}
