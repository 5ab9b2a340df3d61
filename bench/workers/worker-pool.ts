/**
 * Worker processes that run the same job at once. If one of them does not reply in time, all are killed and the pool
 * starts new ones: whatever a participant left behind ends with its process.
 */
import type { Participant } from '../participants/participant.ts';
import { StuckError, within } from '../run/time-limit.ts';
import type { JobName, Jobs } from './jobs/job.ts';
import type { RequestBody } from './messages.ts';
import { WorkerProcess } from './worker-process.ts';

/** A limit for all processes, with more for each of them: they share the cores. */
interface Limit {
  readonly ms: number;
  readonly msEach: number;
}

const START_MAX: Limit = { ms: 20_000, msEach: 2_000 };
const OPEN_MAX: Limit = { ms: 5_000, msEach: 1_000 };
/** Time for callers that still wait to end. After that, starting new processes is cheaper than waiting longer. */
const CLOSE_MAX: Limit = { ms: 400, msEach: 50 };

/** The port at which the process of that index reaches the participant's server. */
export type PortOf = (participant: Participant, index: number) => number;

export class WorkerPool implements AsyncDisposable {
  readonly #size: number;
  readonly #portOf: PortOf;
  #workers: WorkerProcess[] = [];

  /** `port` is one port for all participants and processes, or says which. */
  constructor(size: number, port: number | PortOf) {
    this.#size = size;
    this.#portOf = typeof port === 'number' ? () => port : port;
  }

  /** Opens the participant in every process, runs the body, and closes the participant. */
  async with<Value>(participant: Participant, body: () => Promise<Value>): Promise<Value> {
    try {
      if (this.#workers.length === 0) await this.#start();
      const limitMs = Math.max(this.#msOf(OPEN_MAX), participant.openMsMax ?? 0);
      await this.#all(limitMs, (index) => ({
        verb: 'open',
        participant: participant.id,
        port: this.#portOf(participant, index),
      }));
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
    return (await this.#all(limitMs, () => ({ verb: 'run', job, plan }))) as Jobs[Name]['result'][];
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
    await within(this.#msOf(START_MAX), Promise.all(this.#workers.map((worker) => worker.ready)));
  }

  async #close(): Promise<void> {
    try {
      await this.#all(this.#msOf(CLOSE_MAX), () => ({ verb: 'close' }));
    } catch (error) {
      if (!(error instanceof StuckError)) throw error;
      await this.kill();
    }
  }

  #msOf({ ms, msEach }: Limit): number {
    return ms + this.#size * msEach;
  }

  #all(limitMs: number, requestOf: (index: number) => RequestBody): Promise<unknown[]> {
    return within(limitMs, Promise.all(this.#workers.map((worker, i) => worker.request(requestOf(i)))));
  }
}
