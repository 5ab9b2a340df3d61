/** The connection of a monitor that can crash at a chosen call: before the server has it, or before the answer is heard. */
import type { Redis } from 'ioredis';
import type { StateRedis } from '../../../src/alert-source.ts';

export type Crash = 'before' | 'after';

export class CrashError extends Error {}

export class FrailRedis implements StateRedis {
  readonly #redis: Redis;
  #callsLeft = Number.POSITIVE_INFINITY;
  #crash: Crash = 'before';
  #isDead = false;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  crashAt(call: number, crash: Crash): void {
    this.#callsLeft = call;
    this.#crash = crash;
  }

  die(): void {
    this.#isDead = true;
  }

  async call(command: string, ...args: string[]): Promise<unknown> {
    if (this.#isDead) throw new CrashError('this monitor is dead');
    const isLast = this.#callsLeft === 0;
    this.#callsLeft -= 1;
    if (isLast) {
      this.#isDead = true;
      if (this.#crash === 'before') throw new CrashError('died before the call');
    }
    const reply = await this.#redis.call(command, ...args);
    if (this.#isDead) throw new CrashError('died before the answer');
    return reply;
  }
}
