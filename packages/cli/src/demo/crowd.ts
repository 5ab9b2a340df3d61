/** Buyers, many at once, who go from shop to shop until everybody has had their turn. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, ShopProcess } from './shop-process.ts';

/** After a shop has gone away under a buyer, or refused to answer. */
const PAUSE_MS = 20;

/** One item that somebody has paid for. */
export interface Receipt {
  readonly shop: number;
  readonly fence: number | null;
  readonly atMs: number;
}

export interface CrowdTerms {
  /** How many buy at the same time. */
  readonly buyers: number;
  /** How many want one, all in all. */
  readonly wishes: number;
  /** When the shops close, whoever still waits. */
  readonly untilMs: number;
}

export class Crowd {
  readonly #shops: readonly ShopProcess[];
  readonly #terms: CrowdTerms;
  readonly #receipts: Receipt[] = [];
  #wishes: number;
  #turnedAway = 0;
  #refused = 0;
  #broken = 0;
  #next = 0;
  #isSoldOut = false;

  constructor(shops: readonly ShopProcess[], terms: CrowdTerms) {
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

  /** Told that nothing is left. */
  get turnedAway(): number {
    return this.#turnedAway;
  }

  /** Told that their sale came too late. */
  get refused(): number {
    return this.#refused;
  }

  /** Requests that a shop took with it when it went. */
  get broken(): number {
    return this.#broken;
  }

  /** Resolves when all have had their turn, or it is late. */
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
        // Whoever was in a shop that went away looks for another one.
        this.#broken += 1;
        this.#wishes += 1;
        await sleep(PAUSE_MS);
      }
    }
  }

  #note(shop: ShopProcess, { result, fence }: Answer): void {
    if (result === 'sold') {
      this.#receipts.push({ shop: shop.number, fence: fence ?? null, atMs: performance.now() });
    } else if (result === 'sold out') {
      this.#turnedAway += 1;
      // The others need not ask.
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
