/** Buyers of the demo: many at once, each sends one request after another to the shops in turn. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, ShopProcess } from './shop-process.ts';

/** Before the next request, after a shop ended during one or answered with an error. */
const RETRY_MS = 20;

/** One item that somebody has paid for. */
export interface Receipt {
  readonly shop: number;
  readonly fence: number | null;
  readonly atMs: number;
}

export interface BuyerPoolTerms {
  /** How many buy at the same time. */
  readonly buyers: number;
  /** How many items all buyers together want. */
  readonly wishes: number;
  /** When buying ends, also for buyers who have not had their turn. */
  readonly untilMs: number;
}

export class BuyerPool {
  readonly #shops: readonly ShopProcess[];
  readonly #terms: BuyerPoolTerms;
  readonly #receipts: Receipt[] = [];
  #wishes: number;
  #turnedAway = 0;
  #refused = 0;
  #broken = 0;
  #next = 0;
  #isSoldOut = false;

  constructor(shops: readonly ShopProcess[], terms: BuyerPoolTerms) {
    this.#shops = shops;
    this.#terms = terms;
    this.#wishes = terms.wishes;
  }

  get receipts(): readonly Receipt[] {
    return this.#receipts;
  }

  get sold(): number {
    return this.#receipts.length;
  }

  /** Buyers who were told that nothing is left. */
  get turnedAway(): number {
    return this.#turnedAway;
  }

  /** Sales that the stock refused because of an older fence. */
  get refused(): number {
    return this.#refused;
  }

  /** Requests that failed because their shop ended. */
  get broken(): number {
    return this.#broken;
  }

  /** Resolves when all wishes are served, or at `untilMs`. */
  async buy(): Promise<void> {
    await Promise.all(Array.from({ length: this.#terms.buyers }, () => this.#buyOn()));
  }

  async #buyOn(): Promise<void> {
    while (this.#wishes > 0 && performance.now() < this.#terms.untilMs) {
      const shop = this.#nextShop();
      if (shop === null) return;
      this.#wishes -= 1;
      try {
        this.#note(shop, await shop.sell());
      } catch {
        // The shop ended: the same wish goes to another shop.
        this.#broken += 1;
        this.#wishes += 1;
        await sleep(RETRY_MS);
      }
    }
  }

  #note(shop: ShopProcess, { result, fence }: Answer): void {
    if (result === 'sold') {
      this.#receipts.push({ shop: shop.number, fence: fence ?? null, atMs: performance.now() });
    } else if (result === 'sold out') {
      this.#turnedAway += 1;
      // The wishes that are left would get the same answer, so they are not sent.
      if (!this.#isSoldOut) this.#turnedAway += this.#wishes;
      this.#isSoldOut = true;
      this.#wishes = 0;
    } else {
      this.#refused += 1;
      this.#wishes += 1;
    }
  }

  #nextShop(): ShopProcess | null {
    for (let tries = 0; tries < this.#shops.length; tries += 1) {
      const shop = this.#shops[this.#next % this.#shops.length];
      this.#next += 1;
      if (shop?.isOpen) return shop;
    }
    return null;
  }
}

/** How often the lock went from one instance to another, by the order of the fences. */
export function countHandovers(receipts: readonly Receipt[]): number {
  const fenced = receipts.filter(({ fence }) => fence !== null);
  const ordered = fenced.sort((a, b) => (a.fence ?? 0) - (b.fence ?? 0));
  return ordered.filter(({ shop }, at) => at > 0 && shop !== ordered[at - 1]?.shop).length;
}
