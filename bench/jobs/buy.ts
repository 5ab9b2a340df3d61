/** Buyers of one shop: under the lock, read the stock and write it less one, while there is any. */
import { Redis } from 'ioredis';
import type { BuyResult, Job } from './job.ts';

export const buy: Job<'buy'> = async (contestant, plan, leave): Promise<BuyResult> => {
  const database = new Redis(plan.port, '127.0.0.1');
  const startedMs = performance.now();
  let sold = 0;
  let gaveUp = 0;
  let isOver = false;

  const buyOne = async (): Promise<void> => {
    const release = await contestant.take(plan.key);
    try {
      if (isOver) return;
      const stock = Number(await database.get(plan.stockKey));
      if (stock > 0) {
        await database.set(plan.stockKey, stock - 1);
        sold += 1;
      } else {
        isOver = true;
      }
    } finally {
      await release();
    }
  };
  const buyer = async (): Promise<void> => {
    while (!isOver) {
      await buyOne().catch(() => {
        gaveUp += 1;
      });
    }
  };
  const buyers = Promise.all(Array.from({ length: plan.buyers }, buyer));
  leave({
    async end() {
      isOver = true;
      await buyers;
      database.disconnect();
    },
  });
  const limit = setTimeout(
    () => {
      isOver = true;
    },
    Math.max(0, plan.limitMs - (performance.now() - startedMs)),
  );
  while (!isOver) await new Promise((resolve) => setTimeout(resolve, 1));
  clearTimeout(limit);
  return { sold, gaveUp };
};
