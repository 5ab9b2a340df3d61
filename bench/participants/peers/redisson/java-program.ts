/** A Java program that takes requests on its standard input and answers each in a line of JSON with the request's `id`. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

interface Answer {
  readonly ready?: true;
  readonly id?: number;
  readonly error?: string;
}

export class JavaProgram {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #pending = new Map<number, { resolve(answer: never): void; reject(error: Error): void }>();
  #number = 0;

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#process = child;
  }

  /** The program ends with this process, which holds the other end of its standard input. */
  static async start(args: readonly string[]): Promise<JavaProgram> {
    const child = spawn('java', args, { stdio: ['pipe', 'pipe', 'ignore'] });
    const program = new JavaProgram(child);
    const lines = createInterface(child.stdout);
    const [first] = await Promise.race([once(lines, 'line'), once(child, 'exit')]);
    if (first !== '{"ready":true}') throw new Error(`java did not start: ${first}`);
    lines.on('line', (line) => program.#settle(JSON.parse(line) as Answer));
    child.on('exit', () => {
      for (const { reject } of program.#pending.values())
        reject(new Error('the Java program ended by itself'));
    });
    return program;
  }

  get pid(): number {
    // Known, because the program has answered.
    return this.#process.pid as number;
  }

  request<Result>(request: Readonly<Record<string, string | number>>): Promise<Result> {
    this.#number += 1;
    const id = this.#number;
    this.#process.stdin.write(`${JSON.stringify({ id, ...request })}\n`);
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
  }

  #settle({ id = 0, error, ...answer }: Answer): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    // Main.java says what each request is answered with; a line of JSON carries no types.
    if (error === undefined) pending?.resolve(answer as never);
    else pending?.reject(new Error(error));
  }
}
