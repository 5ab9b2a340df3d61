/**
 * Worker processes that run the same job at once. If one of them does not reply in time, all are killed and the pool
 * starts new ones: whatever a participant left behind ends with its process.
 */
import type { Participant } from '../participants/participant.ts';
import { StuckError, within } from '../run/time-limit.ts';
import type { JobName, Jobs } from './jobs/job.ts';
import type { RequestBody } from './messages.ts';
import { WorkerProcess } from './worker-process.ts';

const START_MS_MAX = 20_000;
const OPEN_MS_MAX = 5_000;
/** Time for callers that still wait to end. After that, starting new processes is cheaper than waiting longer. */
const CLOSE_MS_MAX = 400;

export class WorkerPool implements AsyncDisposable {
  readonly #size: number;
  readonly #port: number;
  #workers: WorkerProcess[] = [];

  constructor(size: number, port: number) {
    this.#size = size;
    this.#port = port;
  }

  /** Opens the participant in every process, runs the body, and closes the participant. */
  async with<Value>(participant: Participant, body: () => Promise<Value>): Promise<Value> {
    try {
      if (this.#workers.length === 0) await this.#start();
      await this.#all(OPEN_MS_MAX, { verb: 'open', participant: participant.id, port: this.#port });
      const value = await body();
      await this.#close();
      return value;
    } catch (error) {
      await this.kill();
      throw error;
    }
  }

  /** Runs the job in every process; `limitMs` bounds the slowest. */
  async all<Name extends JobName>(
    job: Name,
    plan: Jobs[Name]['plan'],
    limitMs: number,
  ): Promise<Jobs[Name]['result'][]> {
    // The worker runs the job of that name, whose result has this type; a message carries no types.
    return (await this.#all(limitMs, { verb: 'run', job, plan })) as Jobs[Name]['result'][];
  }

  /** Runs the job in the process of that index. */
  async one<Name extends JobName>(
    index: number,
    job: Name,
    plan: Jobs[Name]['plan'],
    limitMs: number,
  ): Promise<Jobs[Name]['result']> {
    const worker = this.#workers[index];
    if (worker === undefined)
      throw new Error(`expected a worker below ${this.#workers.length}, got ${index}`);
    // As in `all`: the worker runs the job of that name.
    return (await within(limitMs, worker.request({ verb: 'run', job, plan }))) as Jobs[Name]['result'];
  }

  async kill(): Promise<void> {
    const workers = this.#workers;
    this.#workers = [];
    await Promise.all(workers.map((worker) => worker.kill()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  async #start(): Promise<void> {
    this.#workers = Array.from({ length: this.#size }, () => new WorkerProcess());
    await within(START_MS_MAX, Promise.all(this.#workers.map((worker) => worker.ready)));
  }

  async #close(): Promise<void> {
    try {
      await this.#all(CLOSE_MS_MAX, { verb: 'close' });
    } catch (error) {
      if (!(error instanceof StuckError)) throw error;
      await this.kill();
    }
  }

  #all(limitMs: number, request: RequestBody): Promise<unknown[]> {
    return within(limitMs, Promise.all(this.#workers.map((worker) => worker.request(request))));
  }
}
