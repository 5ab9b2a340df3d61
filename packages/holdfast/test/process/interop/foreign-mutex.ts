/**
 * The mutex that the Redis documentation describes, and that node-redlock writes on each of its servers, in plain
 * commands: a string key with a token, set only when absent, deleted only by its owner, and no messages.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';

const DELETE_IF_OURS = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`;

const EXTEND_IF_OURS = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/** Libraries of this kind poll, with a random part so that they do not meet again. */
const RETRY_MS_MIN = 5;
const RETRY_MS_MAX = 15;

export class ForeignMutex {
  readonly #redis: Redis;
  readonly #key: string;
  readonly token = randomBytes(16).toString('hex');

  constructor(redis: Redis, key: string) {
    this.#redis = redis;
    this.#key = key;
  }

  async tryLock(leaseMs: number): Promise<boolean> {
    return (await this.#redis.set(this.#key, this.token, 'PX', leaseMs, 'NX')) === 'OK';
  }

  /** Gives the time just before the attempt that succeeded. */
  async lock(leaseMs: number): Promise<number> {
    for (;;) {
      const askedMs = performance.now();
      if (await this.tryLock(leaseMs)) return askedMs;
      await sleep(RETRY_MS_MIN + Math.random() * (RETRY_MS_MAX - RETRY_MS_MIN));
    }
  }

  /** False when it was not ours. */
  async extend(leaseMs: number): Promise<boolean> {
    return (await this.#redis.eval(EXTEND_IF_OURS, 1, this.#key, this.token, leaseMs)) === 1;
  }

  /** False when it was not ours. */
  async unlock(): Promise<boolean> {
    return (await this.#redis.eval(DELETE_IF_OURS, 1, this.#key, this.token)) === 1;
  }
}
