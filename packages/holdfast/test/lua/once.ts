/** The scripts of one once key, as the tests call them. */
import {
  type OnceBeginInput,
  type OnceBeginOutcome,
  type OnceFinishInput,
  type OnceFinishOutcome,
  type OnceForgetOutcome,
  type OncePeekOutcome,
  type OnceReleaseInput,
  type OnceReleaseOutcome,
  onceBegin,
  onceFinish,
  onceForget,
  oncePeek,
  onceRelease,
} from '../../src/scripts/generated.ts';
import type { Database } from './database.ts';

export const LOCK = 'holdfast_once_lock:{order}';
export const FENCE = 'redisson_lock_token:holdfast_once_lock:{order}';
export const RECORD = 'holdfast_once:{order}';
export const CHANNEL = 'redisson_lock__channel:holdfast_once_lock:{order}';
export const DAY_MS = 86_400_000;
export const LEASE_MS = 30_000;
export const FAILURE_MS = 60_000;
export const A = '0194d1a0-0000-8000-8000-00000000000a:1';
export const B = '0194d1a0-0000-8000-8000-00000000000b:1';

export class OnceScripts {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async begin(changes: Partial<OnceBeginInput> = {}): Promise<OnceBeginOutcome> {
    const input: OnceBeginInput = {
      ...{ lock: LOCK, fence: FENCE, record: RECORD, holder: A, leaseMs: LEASE_MS, fenceTtlMs: 600_000 },
      ...{ notAfterMs: 0, print: '', attempts: 3, recordTtlMs: DAY_MS, keepFailureMs: FAILURE_MS },
      ...changes,
    };
    return onceBegin.decode(await this.#database.run(onceBegin.call(input)));
  }

  /** Starts a run and tells its attempt and fence. */
  async start(changes: Partial<OnceBeginInput> = {}): Promise<{ attempt: number; fence: number }> {
    const answer = await this.begin(changes);
    if (answer.is !== 'STARTED') throw new Error(`expected STARTED, got ${JSON.stringify(answer)}`);
    return { attempt: answer.attempt, fence: answer.firstFence };
  }

  async finish(changes: Partial<OnceFinishInput> = {}): Promise<OnceFinishOutcome> {
    const input: OnceFinishInput = {
      ...{ lock: LOCK, record: RECORD, holder: A, attempt: 1, fence: 7, print: '', state: 'done' },
      ...{ reason: '', payload: 'j1', keepMs: DAY_MS, channel: CHANNEL, mode: 'plain' },
      ...changes,
    };
    return onceFinish.decode(await this.#database.run(onceFinish.call(input)));
  }

  async release(changes: Partial<OnceReleaseInput> = {}): Promise<OnceReleaseOutcome> {
    const input = { lock: LOCK, record: RECORD, holder: A, hasRun: 0, channel: CHANNEL, mode: 'plain' };
    return onceRelease.decode(await this.#database.run(onceRelease.call({ ...input, ...changes })));
  }

  async peek(): Promise<OncePeekOutcome> {
    return oncePeek.decode(await this.#database.run(oncePeek.call({ lock: LOCK, record: RECORD })));
  }

  async forget(): Promise<OnceForgetOutcome> {
    return onceForget.decode(await this.#database.run(onceForget.call({ lock: LOCK, record: RECORD })));
  }

  /** The lease of whoever runs is over. */
  async expireLock(): Promise<void> {
    await this.#database.redis.del(LOCK);
  }

  async record(): Promise<Record<string, string>> {
    return this.#database.redis.hgetall(RECORD);
  }
}
