/** One worker process, seen from the process that started it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Reply, RequestBody } from './messages.ts';

/** `worker.ts` as scripts/bench/build-worker.mjs built it. */
const PROGRAM = fileURLToPath(new URL('../out/worker.mjs', import.meta.url));

export class WorkerProcess {
  readonly #process: ChildProcess;
  readonly #pending = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #number = 0;

  constructor() {
    const execArgv = ['--expose-gc'];
    this.#process = fork(PROGRAM, { execArgv, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    this.#process.on('message', (reply: Reply) => this.#settle(reply));
    this.#process.on('exit', () => {
      for (const { reject } of this.#pending.values())
        reject(new Error('the worker process ended by itself'));
    });
  }

  get ready(): Promise<unknown> {
    return this.#replyTo(0);
  }

  request(body: RequestBody): Promise<unknown> {
    this.#number += 1;
    const replied = this.#replyTo(this.#number);
    this.#process.send({ ...body, number: this.#number });
    return replied;
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }

  #replyTo(number: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.#pending.set(number, { resolve, reject }));
  }

  #settle({ number, result, error }: Reply): void {
    const pending = this.#pending.get(number);
    this.#pending.delete(number);
    if (error === undefined) pending?.resolve(result);
    else pending?.reject(new Error(error));
  }
}
