/**
 * Player processes that play together. One that does not answer in time is killed with its fellows, and the team
 * starts anew: whatever a contestant left behind ends with its process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Entrant } from './contestant.ts';
import { StuckError, within } from './deadline.ts';
import type { JobName, Jobs } from './jobs/job.ts';
import type { Answer, OrderBody } from './orders.ts';

const PLAYER = fileURLToPath(new URL('player.ts', import.meta.url));
const START_MS_MAX = 20_000;
const OPEN_MS_MAX = 5_000;
/** How long those who still wait may take to leave; then the process is worth less than the time. */
const CLOSE_MS_MAX = 400;

class Player {
  readonly #process: ChildProcess;
  readonly #open = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #number = 0;

  constructor() {
    const execArgv = [...process.execArgv, '--expose-gc'];
    this.#process = fork(PLAYER, { execArgv, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    this.#process.on('message', (answer: Answer) => this.#settle(answer));
    this.#process.on('exit', () => {
      for (const { reject } of this.#open.values()) reject(new Error('the process ended by itself'));
    });
  }

  get isReady(): Promise<unknown> {
    return this.#answerTo(0);
  }

  tell(body: OrderBody): Promise<unknown> {
    this.#number += 1;
    const answered = this.#answerTo(this.#number);
    this.#process.send({ ...body, number: this.#number });
    return answered;
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }

  #answerTo(number: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.#open.set(number, { resolve, reject }));
  }

  #settle({ number, result, error }: Answer): void {
    const waiting = this.#open.get(number);
    this.#open.delete(number);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error));
  }
}

export class Team implements AsyncDisposable {
  readonly #size: number;
  readonly #port: number;
  #players: Player[] = [];

  constructor(size: number, port: number) {
    this.#size = size;
    this.#port = port;
  }

  /** Opens the contestant in every process, runs the body, and leaves nothing of it behind. */
  async with<Value>(entrant: Entrant, body: () => Promise<Value>): Promise<Value> {
    try {
      if (this.#players.length === 0) await this.#start();
      await this.#all(OPEN_MS_MAX, { verb: 'open', entrant: entrant.id, port: this.#port });
      const value = await body();
      await this.#close();
      return value;
    } catch (error) {
      await this.kill();
      throw error;
    }
  }

  /** Every player does the job; `limitMs` bounds the slowest. */
  async all<Name extends JobName>(
    job: Name,
    plan: Jobs[Name]['plan'],
    limitMs: number,
  ): Promise<Jobs[Name]['result'][]> {
    // The player runs the job of that name, which returns this; messages carry no types.
    return (await this.#all(limitMs, { verb: 'play', job, plan })) as Jobs[Name]['result'][];
  }

  /** One player does it. */
  async one<Name extends JobName>(
    index: number,
    job: Name,
    plan: Jobs[Name]['plan'],
    limitMs: number,
  ): Promise<Jobs[Name]['result']> {
    const player = this.#players[index];
    if (player === undefined)
      throw new Error(`expected a player below ${this.#players.length}, got ${index}`);
    // As above.
    return (await within(limitMs, player.tell({ verb: 'play', job, plan }))) as Jobs[Name]['result'];
  }

  async kill(): Promise<void> {
    const players = this.#players;
    this.#players = [];
    await Promise.all(players.map((player) => player.kill()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  async #start(): Promise<void> {
    this.#players = Array.from({ length: this.#size }, () => new Player());
    await within(START_MS_MAX, Promise.all(this.#players.map((player) => player.isReady)));
  }

  async #close(): Promise<void> {
    try {
      await this.#all(CLOSE_MS_MAX, { verb: 'close' });
    } catch (error) {
      if (!(error instanceof StuckError)) throw error;
      await this.kill();
    }
  }

  #all(limitMs: number, order: OrderBody): Promise<unknown[]> {
    return within(limitMs, Promise.all(this.#players.map((player) => player.tell(order))));
  }
}
