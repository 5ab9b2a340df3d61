/** The sale, round by round: without a lock, with it, with a shop that dies, with a shop that freezes. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Locks } from 'holdfast';
import type { Redis } from 'ioredis';
import { Failure } from '../failure.ts';
import { Crowd } from './crowd.ts';
import { type RoundName, type RoundResult, settleRound } from './round.ts';
import { type Answer, ShopProcess } from './shop-process.ts';

/** A fifth more people than there are items: some must go home without. */
const WISHES_PER_ITEM = 1.2;
/** The rounds with a fault are about the fault, not about the crowd. */
const FAULT_STOCK_SHARE = 0.1;
const POLL_MS = 20;
const FAULT_MS_MAX = 30_000;
/** A buyer who takes for ever to pay: the shop holds the lock until something happens to it. */
const FOREVER_MS = 600_000;
/** A buyer who pays as soon as the shop comes back to life: less than a frozen shop stays so, more than a machine stalls. */
const FROZEN_THINK_MS = 1_000;

export interface SaleTerms {
  readonly instances: number;
  readonly stock: number;
  readonly buyers: number;
  readonly secondsMax: number;
  readonly leaseMs: number;
  readonly item: string;
  readonly urls: readonly string[];
}

/** Told what goes on, for the live view. */
export interface Audience {
  begin(round: RoundName, stock: number, crowd: Crowd, shops: readonly ShopProcess[]): void;
  event(text: string): void;
  end(result: RoundResult): void;
}

export class Sale {
  readonly #terms: SaleTerms;
  /** Where the stock is. */
  readonly #redis: Redis;
  readonly #servers: readonly Redis[];
  readonly #locks: Locks;
  readonly #audience: Audience;
  #shops: ShopProcess[] = [];

  constructor(terms: SaleTerms, servers: readonly [Redis, ...Redis[]], locks: Locks, audience: Audience) {
    this.#terms = terms;
    this.#redis = servers[0];
    this.#servers = servers;
    this.#locks = locks;
    this.#audience = audience;
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
    const { stock } = this.#terms;
    await this.#refill(stock);
    const crowd = this.#crowd(stock);
    this.#audience.begin(round, stock, crowd, this.#shops);
    const startedMs = performance.now();
    await crowd.buy();
    return this.#settle(crowd, { round, stock, startedMs, pausedMs: null, refusedWrites: 0, soldBeside: 0 });
  }

  /** A shop is killed while it holds the lock. The others go on when its lease is over. */
  async #killed(): Promise<RoundResult> {
    const stock = this.#faultStock;
    const victim = this.#victim;
    await this.#refill(stock);
    const crowd = this.#crowd(stock);
    this.#audience.begin('killed', stock, crowd, this.#shops);
    const startedMs = performance.now();
    const lost = victim.sell(FOREVER_MS).catch(() => null);
    await this.#untilSelling(victim);
    const buying = crowd.buy();
    victim.kill();
    const killedMs = performance.now();
    this.#audience.event(`shop ${victim.number} holds the lock, and is killed`);
    await Promise.all([buying, lost]);
    const pausedMs = firstSaleAfter(crowd, killedMs);
    const result = await this.#settle(crowd, {
      round: 'killed',
      stock,
      startedMs,
      pausedMs,
      refusedWrites: 0,
      soldBeside: 0,
    });
    await this.#replace(victim);
    return result;
  }

  /** A shop stands still while it holds the lock, and goes on long after. Its write comes too late. */
  async #frozen(): Promise<RoundResult> {
    const stock = this.#faultStock;
    const victim = this.#victim;
    await this.#refill(stock);
    const crowd = this.#crowd(stock);
    this.#audience.begin('frozen', stock, crowd, this.#shops);
    const startedMs = performance.now();
    const late = victim.sell(FROZEN_THINK_MS);
    // It may fail while we look elsewhere; it is awaited below.
    late.catch(() => {});
    await this.#untilSelling(victim);
    victim.freeze();
    const frozenMs = performance.now();
    this.#audience.event(`shop ${victim.number} holds the lock, and is frozen`);
    const buying = crowd.buy();
    await this.#until(() => crowd.sold > 0, 'another shop to go on');
    const pausedMs = firstSaleAfter(crowd, frozenMs);
    victim.thaw();
    this.#audience.event(`shop ${victim.number} goes on, and writes what it had in mind`);
    const answer: Answer = await late;
    await buying;
    const refusedWrites = answer.result === 'refused' ? 1 : 0;
    const soldBeside = answer.result === 'sold' ? 1 : 0;
    return this.#settle(crowd, { round: 'frozen', stock, startedMs, pausedMs, refusedWrites, soldBeside });
  }

  get #faultStock(): number {
    return Math.max(1, Math.round(this.#terms.stock * FAULT_STOCK_SHARE));
  }

  get #victim(): ShopProcess {
    return this.#shops[0] as ShopProcess;
  }

  #crowd(stock: number): Crowd {
    const { buyers, secondsMax } = this.#terms;
    const untilMs = performance.now() + secondsMax * 1000;
    return new Crowd(this.#shops, { buyers, wishes: Math.ceil(stock * WISHES_PER_ITEM), untilMs });
  }

  async #settle(crowd: Crowd, facts: Omit<Parameters<typeof settleRound>[1], 'left'>): Promise<RoundResult> {
    const left = Number(await this.#redis.hget(this.#stockKey, 'left'));
    const result = settleRound(crowd, { ...facts, left });
    this.#audience.end(result);
    return result;
  }

  /** The fence stays: what it has refused it goes on refusing. */
  async #refill(stock: number): Promise<void> {
    await this.#redis.hset(this.#stockKey, 'left', stock);
  }

  get #stockKey(): string {
    return `${this.#terms.item}:stock`;
  }

  /** Until the shop is in the middle of a sale, and by the word of Redis holds the lock. */
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
    const { urls, item, leaseMs } = this.#terms;
    return ShopProcess.start(number, { urls, item, leaseMs, isCareless });
  }

  async #replace(dead: ShopProcess): Promise<void> {
    const another = await this.#openShop(this.#terms.instances + 1, false);
    // To the end of the row: the next fault happens to another one.
    this.#shops = [...this.#shops.filter((shop) => shop !== dead), another];
  }

  async #closeShops(): Promise<void> {
    const shops = this.#shops;
    this.#shops = [];
    await Promise.all(shops.map((shop) => shop.close()));
  }
}

function firstSaleAfter({ receipts }: Crowd, ms: number): number | null {
  const first = receipts.find(({ atMs }) => atMs > ms);
  return first === undefined ? null : first.atMs - ms;
}
