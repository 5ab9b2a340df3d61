/** How many items are left: one number in Redis, read and written back in two steps, as most programs do. */
import type { Redis } from 'ioredis';

/** Compares the fence and writes the number and the fence, in one atomic step. */
const WRITE = `
  local last = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0')
  if tonumber(ARGV[1]) < last then return 0 end
  redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'left', ARGV[2])
  return 1
`;

export class Stock {
  readonly #redis: Redis;
  readonly #key: string;

  constructor(redis: Redis, key: string) {
    this.#redis = redis;
    this.#key = key;
  }

  async read(): Promise<number> {
    return Number(await this.#redis.hget(this.#key, 'left'));
  }

  /** Writes without a check: the last writer wins. */
  async write(left: number): Promise<void> {
    await this.#redis.hset(this.#key, 'left', left);
  }

  /** Returns false if an owner with a larger fence has already written: this write is too late. */
  async writeFenced(left: number, fence: number): Promise<boolean> {
    return (await this.#redis.eval(WRITE, 1, this.#key, fence, left)) === 1;
  }
}
