/** A job on a real server, for the tests of its scripts. */
import {
  type JobFinishInput,
  type JobFinishOutcome,
  type JobReadOutcome,
  type JobStartInput,
  type JobStartOutcome,
  jobFinish,
  jobRead,
  jobStart,
} from '../../src/scripts/generated.ts';
import type { Database } from './database.ts';

export const KEYS = {
  lock: 'holdfast_job_lock:{report}',
  fence: 'redisson_lock_token:holdfast_job_lock:{report}',
  job: 'holdfast_job:{report}',
};
export const HOLDER = '6f9619ff-8b86-8011-b42d-00c04fc964ff:1';
export const OTHER = '6f9619ff-8b86-8011-b42d-00c04fc964ff:2';
export const DAY_MS: number = 24 * 60 * 60 * 1000;
export const WEEK_MS: number = 7 * DAY_MS;

/** The job under test. `slotMs` is an hour's slot that began a moment ago, `nextMs` the one after it. */
export class TestJob {
  readonly #database: Database;
  slotMs = 0;
  nextMs = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  async prepare(): Promise<void> {
    const nowMs = await this.#database.nowMs();
    this.slotMs = nowMs - 10;
    this.nextMs = nowMs + 3_600_000;
  }

  async start(changes: Partial<JobStartInput> = {}): Promise<JobStartOutcome> {
    const input: JobStartInput = {
      ...KEYS,
      holder: HOLDER,
      leaseMs: 30_000,
      fenceTtlMs: 3_600_000,
      notAfterMs: 0,
      slotMs: this.slotMs,
      nextMs: this.nextMs,
      lateMs: 60_000,
      attempts: 1,
      restMs: 0,
      isKnown: 1,
      host: 'ann',
      spec: 'every hour',
      ...changes,
    };
    return jobStart.decode(await this.#database.run(jobStart.call(input)));
  }

  async finish(changes: Partial<JobFinishInput> = {}): Promise<JobFinishOutcome> {
    const input: JobFinishInput = {
      lock: KEYS.lock,
      job: KEYS.job,
      holder: HOLDER,
      slotMs: this.slotMs,
      attempt: 1,
      state: 'done',
      text: '',
      retryMs: 0,
      channel: 'channel',
      mode: 'plain',
      ...changes,
    };
    return jobFinish.decode(await this.#database.run(jobFinish.call(input)));
  }

  async read(): Promise<JobReadOutcome> {
    return jobRead.decode(await this.#database.run(jobRead.call({ job: KEYS.job, lock: KEYS.lock })));
  }

  async marker(): Promise<Record<string, string>> {
    return this.#database.redis.hgetall(KEYS.job);
  }

  /** The lease of a run ends, as after the death of its process. */
  async endLease(): Promise<void> {
    await this.#database.redis.del(KEYS.lock);
  }
}
