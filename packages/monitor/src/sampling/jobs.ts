/**
 * The jobs, read while somebody looks at them: a walk over all keys at a pace of its own, then a pause. Nobody looks, nothing
 * is read.
 */
import type { JobInfo } from 'holdfast';
import type { JobsPage, JobView } from '../api/types.ts';
import { pause } from './pace.ts';

/** Beside what locks cost, and only while the page is open. A call looks at 500 keys, or reads one job. */
const CALLS_PER_SECOND = 10;
/** From the end of a walk to the next. */
const REST_MS = 5_000;
const FAILED_REST_MS = 1_000;
/** How long after its last request somebody counts as looking. The page asks every two seconds. */
const WANTED_MS = 10_000;
/** How many jobs are kept and shown at most. A fleet has tens. */
const JOBS_MAX = 1_000;

export interface JobBookTerms {
  /** Iterates over the jobs; `pace` is waited for after each call to a server. */
  readonly read: (pace: () => Promise<unknown>) => AsyncIterable<JobInfo>;
  readonly now: () => number;
  /** From 0.1 to 1: how much of the usual pace. */
  readonly budget: number;
}

export class JobBook {
  readonly #terms: JobBookTerms;
  readonly #end = new AbortController();
  #wantedAt = Number.NEGATIVE_INFINITY;
  #isWalking = false;
  #known = new Map<string, JobView>();
  #count = 0;
  #readAt: number | null = null;
  #failure: Error | null = null;

  constructor(terms: JobBookTerms) {
    this.#terms = terms;
  }

  /** What was read last. Rejects with why the last walk failed. Keeps the walks going for a while. */
  async page(): Promise<JobsPage> {
    this.#wantedAt = this.#terms.now();
    if (!this.#isWalking) void this.#walkAround();
    if (this.#failure !== null) throw this.#failure;
    const jobs = [...this.#known.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return { readAt: this.#readAt, jobs, count: this.#count };
  }

  close(): void {
    this.#end.abort();
  }

  get #isWanted(): boolean {
    return !this.#end.signal.aborted && this.#terms.now() - this.#wantedAt < WANTED_MS;
  }

  async #walkAround(): Promise<void> {
    this.#isWalking = true;
    while (this.#isWanted) {
      await this.#walk();
      const restMs = this.#failure === null ? REST_MS : FAILED_REST_MS;
      await pause(restMs / this.#terms.budget, this.#end.signal);
    }
    this.#isWalking = false;
  }

  async #walk(): Promise<void> {
    const { read, now, budget } = this.#terms;
    const found = new Map<string, JobView>();
    let count = 0;
    try {
      const pace = (): Promise<void> => pause(1_000 / (CALLS_PER_SECOND * budget), this.#end.signal);
      for await (const job of read(pace)) {
        count += 1;
        if (found.size < JOBS_MAX) found.set(job.name, viewOf(job));
        // The first walk over many keys takes minutes: what it has found is shown meanwhile.
        if (this.#readAt === null) this.#show(found, count);
        if (!this.#isWanted) return;
      }
      this.#show(found, count);
      this.#readAt = now();
      this.#failure = null;
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
    }
  }

  #show(found: Map<string, JobView>, count: number): void {
    this.#known = found;
    this.#count = count;
  }
}

function viewOf({ name, spec, last, next, tookMs }: JobInfo): JobView {
  return {
    name,
    schedule: spec === '' ? null : spec,
    slot: last.slot.getTime(),
    state: last.state,
    attempt: last.attempt,
    host: last.host ?? null,
    beganAt: last.beganAt?.getTime() ?? null,
    endedAt: last.endedAt?.getTime() ?? null,
    tookMs: tookMs ?? null,
    error: last.error ?? null,
    next: next?.getTime() ?? null,
  };
}
