/** Notices when the machine stands still: this process, the server, or the way between them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';

const LOOK_EVERY_MS = 5;

export class StallWatch {
  readonly #watching: Promise<void>;
  #worstMs = 0;
  #isOver = false;

  constructor(redis: Redis) {
    this.#watching = this.#watch(redis);
  }

  /** Ends it; gives the longest stall. */
  async end(): Promise<number> {
    this.#isOver = true;
    await this.#watching;
    return this.#worstMs;
  }

  async #watch(redis: Redis): Promise<void> {
    while (!this.#isOver) {
      const beganMs = performance.now();
      await Promise.all([redis.ping(), sleep(LOOK_EVERY_MS)]);
      this.#worstMs = Math.max(this.#worstMs, performance.now() - beganMs - LOOK_EVERY_MS);
    }
  }
}
