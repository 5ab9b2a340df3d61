/**
 * For rules that need a machine which keeps time. On a shared one, a process or a server may stand still for longer
 * than a short lease lasts; the lease is then rightly lost, a call rightly without an answer. An attempt that fails
 * beside such a stall says nothing, and is made again. What must never happen, stall or not, is not left to this:
 * it is noted during the attempts and checked after them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from './bench.ts';

/** Shorter ones no rule minds: the shortest lease has time for one more renewal. */
const STALL_MS = 80;
const TRIES_MAX = 6;
const LOOK_EVERY_MS = 5;

/** Looks for stalls of this process, of the server and of the way between them. */
class StallWatch {
  #worstMs = 0;
  #isOver = false;
  readonly #watching: Promise<void>;

  constructor(bench: Bench) {
    this.#watching = this.#watch(bench);
  }

  /** Ends it; gives the longest stall. */
  async end(): Promise<number> {
    this.#isOver = true;
    await this.#watching;
    return this.#worstMs;
  }

  async #watch(bench: Bench): Promise<void> {
    while (!this.#isOver) {
      const beganMs = performance.now();
      await Promise.all([bench.redis.ping(), sleep(LOOK_EVERY_MS)]);
      this.#worstMs = Math.max(this.#worstMs, performance.now() - beganMs - LOOK_EVERY_MS);
    }
  }
}

/** Makes attempts, each with a name of its own, until one passes or one fails on a machine that kept time. */
export async function punctually(bench: Bench, attempt: (name: string) => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const watch = new StallWatch(bench);
    const [outcome] = await Promise.allSettled([attempt(bench.name(`try-${tries}`))]);
    const stallMs = await watch.end();
    if (outcome.status === 'fulfilled') return;
    if (stallMs < STALL_MS || tries === TRIES_MAX) throw outcome.reason;
  }
}
