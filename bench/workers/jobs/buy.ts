/** Buyers of one shop: under the lock, read the stock and write it back less one, until nothing is left. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { OpenParticipant } from '../../participants/participant.ts';
import type { BuyPlan, Job } from './job.ts';

class Shop {
  readonly #opened: OpenParticipant;
  readonly #plan: BuyPlan;
  readonly #database: Redis;
  readonly #sales = new Set<Promise<void>>();
  sold = 0;
  gaveUp = 0;
  isOver = false;

  constructor(opened: OpenParticipant, plan: BuyPlan, database: Redis) {
    this.#opened = opened;
    this.#plan = plan;
    this.#database = database;
  }

  async buyer(): Promise<void> {
    while (!this.isOver) {
      const release = await this.#opened.take(this.#plan.key).catch(() => null);
      if (release === null) {
        this.gaveUp += 1;
        await sleep(1);
        continue;
      }
      if (!this.isOver) await this.#trackedSale();
      await release().catch(() => {});
    }
  }

  /** Resolves when no sale is under way any more. */
  async closed(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.#sales);
  }

  async #trackedSale(): Promise<void> {
    const sale = this.#sell();
    this.#sales.add(sale);
    await sale;
    this.#sales.delete(sale);
  }

  /** Reads, then writes, as no program should without a lock: another buyer may sell in between. */
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

export const buy: Job<'buy'> = async (opened, plan, onClose) => {
  const database = new Redis(plan.port, '127.0.0.1');
  const shop = new Shop(opened, plan, database);
  const buyers = Promise.all(Array.from({ length: plan.buyers }, () => shop.buyer()));
  onClose(async () => {
    shop.isOver = true;
    await buyers;
    database.disconnect();
  });
  await Promise.race([buyers, sleep(plan.limitMs)]);
  // A sale under way at the limit is completed and counts: the stock has it too.
  await shop.closed();
  return { sold: shop.sold, gaveUp: shop.gaveUp };
};
