/**
 * The demo: a sale in rounds, without a lock, with the lock, with a shop that is killed and with a shop that is frozen.
 *
 * In this folder: the sale, the shop processes and the buyers, the Redis of the demo's own, and what is shown of a
 * round. Only `commands/demo.ts` imports from here.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Locks } from 'holdfast';
import type { Redis } from 'ioredis';
import { Failure } from '../failure.ts';
import { BuyerPool } from './buyer-pool.ts';
import { type RoundFacts, type RoundName, type RoundResult, settleRound } from './round.ts';
import { type Answer, ShopProcess } from './shop-process.ts';

/** A fifth more people than there are items: some must go home without. */
const WISHES_PER_ITEM = 1.2;
/** The rounds with a fault need few sales: they show the fault. */
const FAULT_STOCK_SHARE = 0.1;
const POLL_MS = 20;
const FAULT_MS_MAX = 30_000;
/** How long a sale takes whose shop is killed: longer than anything else in the demo. */
const FOREVER_MS = 600_000;
/** How long a sale takes whose shop is frozen: shorter than the freeze, longer than a busy machine stalls. */
const FROZEN_THINK_MS = 1_000;

export interface SaleTerms {
  readonly instances: number;
  readonly stock: number;
  readonly buyers: number;
  readonly secondsMax: number;
  readonly leaseMs: number;
  readonly item: string;
  readonly urls: readonly string[];
  /** A file of SQLite that has the stock; null where Redis has it. */
  readonly database: string | null;
}

/** A round before the stock is counted at its end. */
type FactsBeforeCount = Omit<RoundFacts, 'left'>;

/** Is told what happens, to show it. */
export interface SaleObserver {
  begin(round: RoundName, stock: number, pool: BuyerPool, shops: readonly ShopProcess[]): void;
  event(text: string): void;
  end(result: RoundResult): void;
}

export class Sale {
  readonly #terms: SaleTerms;
  /** Where the stock is, unless a database has it. */
  readonly #redis: Redis;
  readonly #servers: readonly Redis[];
  readonly #locks: Locks;
  readonly #observer: SaleObserver;
  #shops: ShopProcess[] = [];

  constructor(terms: SaleTerms, servers: readonly [Redis, ...Redis[]], locks: Locks, observer: SaleObserver) {
    this.#terms = terms;
    this.#redis = servers[0];
    this.#servers = servers;
    this.#locks = locks;
    this.#observer = observer;
  }

  async run(hasChaos: boolean): Promise<RoundResult[]> {
    const results: RoundResult[] = [];
    await this.#openShops(true);
    results.push(await this.#plain('without'));
    await this.#closeShops();
    await this.#openShops(false);
    results.push(await this.#plain('with'));
    if (hasChaos) results.push(await this.#killed(), await this.#frozen());
    return results;
  }

  async close(): Promise<void> {
    await this.#closeShops();
    const { item } = this.#terms;
    const keys = [`${item}:stock`, `redisson_lock_token:{${item}}`];
    // What a server that is down keeps expires by itself, and so does the record of the shop that was killed.
    await Promise.all(this.#servers.map((redis) => redis.del(...keys).catch(() => 0)));
  }

  async #plain(round: RoundName): Promise<RoundResult> {
    const { pool, facts } = await this.#begin(round, this.#terms.stock);
    await pool.buy();
    return this.#settle(pool, facts);
  }

  /** A shop is killed while it holds the lock. The others go on when its lease is over. */
  async #killed(): Promise<RoundResult> {
    const { pool, facts } = await this.#begin('killed', this.#faultStock);
    const victim = this.#victim;
    const lost = victim.sell(FOREVER_MS).catch(() => null);
    await this.#untilSelling(victim);
    const buying = pool.buy();
    victim.kill();
    const killedMs = performance.now();
    this.#observer.event(`shop ${victim.number} holds the lock, and is killed`);
    await Promise.all([buying, lost]);
    const pausedMs = firstSaleAfter(pool, killedMs);
    const result = await this.#settle(pool, { ...facts, pausedMs });
    await this.#replace(victim);
    return result;
  }

  /** A shop is frozen while it holds the lock, and thawed after others have sold. Its write comes too late. */
  async #frozen(): Promise<RoundResult> {
    const { pool, facts } = await this.#begin('frozen', this.#faultStock);
    const victim = this.#victim;
    const late = victim.sell(FROZEN_THINK_MS);
    // Awaited below. Without this a failure before that would be an unhandled rejection.
    late.catch(() => {});
    await this.#untilSelling(victim);
    victim.freeze();
    const frozenMs = performance.now();
    this.#observer.event(`shop ${victim.number} holds the lock, and is frozen`);
    const buying = pool.buy();
    await this.#until(() => pool.sold > 0, 'another shop to go on');
    const pausedMs = firstSaleAfter(pool, frozenMs);
    victim.thaw();
    this.#observer.event(`shop ${victim.number} goes on, and writes what it had in mind`);
    const answer: Answer = await late;
    await buying;
    const refusedWrites = answer.result === 'refused' ? 1 : 0;
    const soldBeside = answer.result === 'sold' ? 1 : 0;
    return this.#settle(pool, { ...facts, pausedMs, refusedWrites, soldBeside });
  }

  get #faultStock(): number {
    return Math.max(1, Math.round(this.#terms.stock * FAULT_STOCK_SHARE));
  }

  get #victim(): ShopProcess {
    return this.#shops[0] as ShopProcess;
  }

  async #begin(round: RoundName, stock: number): Promise<{ pool: BuyerPool; facts: FactsBeforeCount }> {
    // The fence of the stock stays as it is: a write that it has refused must stay refused.
    if (this.#terms.database === null) await this.#redis.hset(this.#stockKey, 'left', stock);
    else await this.#anyOpenShop().restock(stock);
    const { buyers, secondsMax } = this.#terms;
    const untilMs = performance.now() + secondsMax * 1000;
    const wishes = Math.ceil(stock * WISHES_PER_ITEM);
    const pool = new BuyerPool(this.#shops, { buyers, wishes, untilMs });
    this.#observer.begin(round, stock, pool, this.#shops);
    const startedMs = performance.now();
    return { pool, facts: { round, stock, startedMs, pausedMs: null, refusedWrites: 0, soldBeside: 0 } };
  }

  async #settle(pool: BuyerPool, facts: FactsBeforeCount): Promise<RoundResult> {
    const left =
      this.#terms.database === null
        ? Number(await this.#redis.hget(this.#stockKey, 'left'))
        : (await this.#anyOpenShop().stock()).left;
    const result = settleRound(pool, { ...facts, left });
    this.#observer.end(result);
    return result;
  }

  /** Only the shops open the database. */
  #anyOpenShop(): ShopProcess {
    const shop = this.#shops.find(({ isOpen }) => isOpen);
    if (shop === undefined) throw new Failure('internal', 'the demo has no open shop');
    return shop;
  }

  get #stockKey(): string {
    return `${this.#terms.item}:stock`;
  }

  /** Until the shop is in the middle of a sale, and Redis shows it as the owner of the lock. */
  async #untilSelling(shop: ShopProcess): Promise<void> {
    await this.#until(async () => {
      const { selling } = await shop.stock();
      const found = await this.#locks.inspect(this.#terms.item);
      return selling !== null && found?.kind === 'lock' && found.owner.startsWith(shop.session);
    }, `shop ${shop.number} to hold the lock`);
  }

  async #until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const untilMs = performance.now() + FAULT_MS_MAX;
    while (!(await condition())) {
      if (performance.now() > untilMs) throw new Failure('internal', `the demo waited in vain for ${what}`);
      await sleep(POLL_MS);
    }
  }

  async #openShops(isCareless: boolean): Promise<void> {
    const numbers = Array.from({ length: this.#terms.instances }, (_, at) => at + 1);
    this.#shops = await Promise.all(numbers.map((number) => this.#openShop(number, isCareless)));
  }

  #openShop(number: number, isCareless: boolean): Promise<ShopProcess> {
    const { urls, item, leaseMs, database } = this.#terms;
    return ShopProcess.start(number, { urls, item, leaseMs, isCareless, database });
  }

  async #replace(dead: ShopProcess): Promise<void> {
    const another = await this.#openShop(this.#terms.instances + 1, false);
    // At the end of the list, because the first shop is the next victim.
    this.#shops = [...this.#shops.filter((shop) => shop !== dead), another];
  }

  async #closeShops(): Promise<void> {
    const shops = this.#shops;
    this.#shops = [];
    await Promise.all(shops.map((shop) => shop.close()));
  }
}

function firstSaleAfter({ receipts }: BuyerPool, ms: number): number | null {
  const first = receipts.find(({ atMs }) => atMs > ms);
  return first === undefined ? null : first.atMs - ms;
}
