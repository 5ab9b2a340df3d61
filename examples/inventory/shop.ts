/** A shop without a lock and a shop with one. The difference is three lines. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LockLostError, type Locks } from 'holdfast';
import type { Stock } from './stock.ts';

/** Longer than a lease: when a shop is killed while it holds the lock, buyers wait until its lease has expired. */
const WAIT_MS = 60_000;

export type Sale =
  | { readonly result: 'sold'; readonly left: number; readonly fence: number | null }
  | { readonly result: 'sold out' }
  /** A later owner has written meanwhile, so the stock refused this write. */
  | { readonly result: 'refused'; readonly fence: number };

export interface Shop {
  /** `thinkMs` is how long the buyer takes between seeing the stock and paying. */
  sell(thinkMs: number): Promise<Sale>;
  /** The fence of the current sale; null when no sale runs under the lock. */
  readonly selling: number | null;
}

/** Two instances read the same number, and both write one less: two items are sold, the stock counts one. */
export class CarelessShop implements Shop {
  readonly selling = null;
  readonly #stock: Stock;

  constructor(stock: Stock) {
    this.#stock = stock;
  }

  async sell(thinkMs: number): Promise<Sale> {
    const left = await this.#stock.read();
    if (left <= 0) return { result: 'sold out' };
    if (thinkMs > 0) await sleep(thinkMs);
    await this.#stock.write(left - 1);
    return { result: 'sold', left: left - 1, fence: null };
  }
}

export class CarefulShop implements Shop {
  readonly #stock: Stock;
  readonly #locks: Locks;
  readonly #item: string;
  #selling: number | null = null;

  constructor(stock: Stock, locks: Locks, item: string) {
    this.#stock = stock;
    this.#locks = locks;
    this.#item = item;
  }

  get selling(): number | null {
    return this.#selling;
  }

  async sell(thinkMs: number): Promise<Sale> {
    try {
      return await this.#sellUnderLock(thinkMs);
    } catch (error) {
      // The lock was lost during the sale. The stock's answer to the write still decides whether the item was sold.
      if (error instanceof LockLostError && error.outcome?.status === 'fulfilled')
        return error.outcome.value as Sale;
      throw error;
    } finally {
      this.#selling = null;
    }
  }

  #sellUnderLock(thinkMs: number): Promise<Sale> {
    return this.#locks.lock(this.#item).using(
      async ({ fence }): Promise<Sale> => {
        this.#selling = fence;
        const left = await this.#stock.read(fence);
        if (left <= 0) return { result: 'sold out' };
        if (thinkMs > 0) await sleep(thinkMs);
        const isWritten = await this.#stock.writeFenced(left - 1, fence);
        return isWritten ? { result: 'sold', left: left - 1, fence } : { result: 'refused', fence };
      },
      { waitMs: WAIT_MS },
    );
  }
}
