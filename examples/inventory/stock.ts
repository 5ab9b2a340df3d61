/** How many items are left: one number, read and written back in two steps, as most programs do. */
import type { Redis } from 'ioredis';

export interface Stock {
  /** With a fence, owners with an older one are refused from now on: what was read stays true until this owner writes. */
  read(fence?: number): Promise<number>;
  /** Writes without a check: the last writer wins. */
  write(left: number): Promise<void>;
  /** Returns false if an owner with a larger fence has been here: this write is too late. */
  writeFenced(left: number, fence: number): Promise<boolean>;
}

/** Records the fence and reads the number, in one atomic step. */
const READ = `
  local last = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0')
  if tonumber(ARGV[1]) > last then redis.call('HSET', KEYS[1], 'fence', ARGV[1]) end
  return redis.call('HGET', KEYS[1], 'left')
`;

/** Compares the fence and writes the number and the fence, in one atomic step. */
const WRITE = `
  local last = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0')
  if tonumber(ARGV[1]) < last then return 0 end
  redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'left', ARGV[2])
  return 1
`;

export class RedisStock implements Stock {
  readonly #redis: Redis;
  readonly #key: string;

  constructor(redis: Redis, key: string) {
    this.#redis = redis;
    this.#key = key;
  }

  async read(fence = 0): Promise<number> {
    return Number(await this.#redis.eval(READ, 1, this.#key, fence));
  }

  async write(left: number): Promise<void> {
    await this.#redis.hset(this.#key, 'left', left);
  }

  async writeFenced(left: number, fence: number): Promise<boolean> {
    return (await this.#redis.eval(WRITE, 1, this.#key, fence, left)) === 1;
  }
}
