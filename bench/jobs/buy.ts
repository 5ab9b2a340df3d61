/** Buyers of one shop: under the lock, read the stock and write it less one, while there is any. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Contestant } from '../contestant.ts';
import type { BuyPlan, Job } from './job.ts';

class Shop {
  readonly #contestant: Contestant;
  readonly #plan: BuyPlan;
  readonly #database: Redis;
  readonly #selling = new Set<Promise<void>>();
  sold = 0;
  gaveUp = 0;
  isOver = false;

  constructor(contestant: Contestant, plan: BuyPlan, database: Redis) {
    this.#contestant = contestant;
    this.#plan = plan;
    this.#database = database;
  }

  async buyer(): Promise<void> {
    while (!this.isOver) {
      const release = await this.#contestant.take(this.#plan.key).catch(() => null);
      if (release === null) {
        this.gaveUp += 1;
        await sleep(1);
        continue;
      }
      if (!this.isOver) await this.#sale();
      await release().catch(() => {});
    }
  }

  /** Resolves when nobody is inside any more. */
  async closed(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.#selling);
  }

  async #sale(): Promise<void> {
    const selling = this.#sell();
    this.#selling.add(selling);
    await selling;
    this.#selling.delete(selling);
  }

  /** As no program should without a lock: another may sell between the reading and the writing. */
  async #sell(): Promise<void> {
    const stock = Number(await this.#database.get(this.#plan.stockKey));
    if (stock <= 0) {
      this.isOver = true;
      return;
    }
    await this.#database.set(this.#plan.stockKey, stock - 1);
    this.sold += 1;
  }
}

export const buy: Job<'buy'> = async (contestant, plan, leave) => {
  const database = new Redis(plan.port, '127.0.0.1');
  const shop = new Shop(contestant, plan, database);
  const buyers = Promise.all(Array.from({ length: plan.buyers }, () => shop.buyer()));
  leave({
    async end() {
      shop.isOver = true;
      await buyers;
      database.disconnect();
    },
  });
  await Promise.race([buyers, sleep(plan.limitMs)]);
  // Who is inside sells to the end, and it counts.
  await shop.closed();
  return { sold: shop.sold, gaveUp: shop.gaveUp };
};
