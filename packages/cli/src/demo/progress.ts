/** The progress of the sale: one line that is redrawn on a terminal, one line a round elsewhere. */
import type { Locks } from 'holdfast';
import { type Line, render, styled } from '../output.ts';
import { cut } from '../table.ts';
import { type BuyerPool, countHandovers } from './buyer-pool.ts';
import type { RoundName, RoundResult } from './round.ts';
import type { SaleObserver } from './sale.ts';
import type { ShopProcess } from './shop-process.ts';

const REFRESH_MS = 100;
const BAR_CELLS = 24;
const CLEAR = '\r\u001b[K';

const TITLES: Readonly<Record<RoundName, string>> = {
  without: 'Round 1: no lock',
  with: 'Round 2: with the lock',
  killed: 'Round 3: a shop is killed while it holds the lock',
  frozen: 'Round 4: a shop is frozen past its lease',
};

export const whole = (value: number): string => value.toLocaleString('en-US');

export class Progress implements SaleObserver {
  readonly #locks: Locks;
  readonly #item: string;
  readonly #isLive: boolean;
  readonly #refuser: string;
  #timer: NodeJS.Timeout | undefined;
  #holder = '';

  /** `refuser` is what refuses late writes: the fence of the stock in Redis, or the database. */
  constructor(locks: Locks, item: string, isLive: boolean, refuser: string) {
    this.#locks = locks;
    this.#item = item;
    this.#isLive = isLive;
    this.#refuser = refuser;
  }

  begin(round: RoundName, stock: number, pool: BuyerPool, shops: readonly ShopProcess[]): void {
    this.#print([styled('bold', TITLES[round])]);
    if (!this.#isLive) return;
    const startedMs = performance.now();
    this.#timer = setInterval(() => {
      void this.#askHolder(shops);
      const status = cut(this.#status(round, stock, pool, startedMs), process.stdout.columns ?? 80);
      process.stdout.write(`${CLEAR}${render(status, process.stdout)}`);
    }, REFRESH_MS);
  }

  event(text: string): void {
    this.#print(`  ${text}`);
  }

  end(result: RoundResult): void {
    clearInterval(this.#timer);
    this.#print(outcomeOf(result, this.#refuser));
  }

  #status(round: RoundName, stock: number, pool: BuyerPool, startedMs: number): string {
    const { sold } = pool;
    const full = Math.min(BAR_CELLS, Math.round((sold / stock) * BAR_CELLS));
    const bar = '█'.repeat(full) + '░'.repeat(BAR_CELLS - full);
    const rate = Math.round(sold / Math.max(0.1, (performance.now() - startedMs) / 1000));
    const over = sold > stock ? `, ${whole(sold - stock)} too many` : '';
    const common = `  ${bar} ${whole(sold)} of ${whole(stock)} sold${over}, ${whole(rate)} a second`;
    if (round === 'without') return common;
    return `${common}, ${this.#holder}, ${whole(countHandovers(pool.receipts))} handovers`;
  }

  async #askHolder(shops: readonly ShopProcess[]): Promise<void> {
    const found = await this.#locks.inspect(this.#item).catch(() => null);
    const shop =
      found?.kind === 'lock' ? shops.find(({ session }) => found.owner.startsWith(session)) : undefined;
    this.#holder = shop === undefined ? 'nobody holds it' : `shop ${shop.number} holds it`;
  }

  #print(line: Line): void {
    process.stdout.write(`${this.#isLive ? CLEAR : ''}${render(line, process.stdout)}\n`);
  }
}

function outcomeOf(result: RoundResult, refuser: string): Line {
  const { round, sold, stock, left, oversold, lostUpdates, isExact, seconds, pausedMs, refusedWrites } =
    result;
  const counted = `${whole(sold)} of ${whole(stock)} sold in ${seconds.toFixed(1)} s, ${whole(left)} left`;
  if (!isExact) {
    const over = oversold > 0 ? `oversold by ${whole(oversold)}` : 'not exact';
    return ['  ', styled('red', over), `: ${counted}; the stock missed ${whole(lostUpdates)} sales`];
  }
  // Not everybody had their turn: `--seconds` closes the shops.
  const closed = left > 0 ? '; then the time was up' : '';
  const pause = pausedMs === null ? '' : `; the others went on after ${(pausedMs / 1000).toFixed(1)} s`;
  const refused =
    round === 'frozen'
      ? `; its late write was ${refusedWrites > 0 ? `refused by ${refuser}` : 'not refused'}`
      : '';
  return ['  ', styled('green', 'exact'), `: ${counted}${closed}${pause}${refused}`];
}

/** For `--json`: nothing is shown until the end. */
export const NO_OBSERVER: SaleObserver = { begin: () => {}, event: () => {}, end: () => {} };
