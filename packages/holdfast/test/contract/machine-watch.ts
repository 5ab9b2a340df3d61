/** Notices when the machine stands still: this process, the server, or the way between them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';

const LOOK_EVERY_MS = 10;
/** Less is no stall. */
const NOTED_MS_MIN = 20;

interface Stall {
  readonly endMs: number;
  readonly lengthMs: number;
}

export class MachineWatch {
  readonly #redis: Redis;
  readonly #stalls: Stall[] = [];
  readonly #watching: Promise<void>;
  #look: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(redis: Redis) {
    this.#redis = redis;
    this.#watching = this.#watch();
  }

  /** The longest stall since a moment of `performance.now()`, the present one included. */
  async longestSince(beganMs: number): Promise<number> {
    await this.#look;
    const lengths = this.#stalls.filter(({ endMs }) => endMs > beganMs).map(({ lengthMs }) => lengthMs);
    return Math.max(0, ...lengths);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#watching;
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      this.#look = this.#once();
      await this.#look;
    }
  }

  async #once(): Promise<void> {
    const beganMs = performance.now();
    await Promise.all([this.#redis.ping(), sleep(LOOK_EVERY_MS)]);
    const endMs = performance.now();
    const lengthMs = endMs - beganMs - LOOK_EVERY_MS;
    if (lengthMs > NOTED_MS_MIN) this.#stalls.push({ endMs, lengthMs });
  }
}
