/** One round of the sale: what came out of it, and whether it adds up. */
import { type BuyerPool, countHandovers } from './buyer-pool.ts';

export type RoundName = 'without' | 'with' | 'killed' | 'frozen';

/** As it is in JSON. */
export interface RoundResult {
  readonly round: RoundName;
  readonly stock: number;
  /** Items that somebody has paid for. */
  readonly sold: number;
  /** What the stock says afterwards. */
  readonly left: number;
  /** Sold beyond what there was. */
  readonly oversold: number;
  /** Sales that the stock does not know of. */
  readonly lostUpdates: number;
  readonly seconds: number;
  readonly salesPerSecond: number;
  /** How often the lock went from one instance to another. Null without a lock. */
  readonly handovers: number | null;
  /** From the kill or the freeze to the next sale. Null where there was none. */
  readonly pausedMs: number | null;
  /** Late writes that the fence refused. */
  readonly refusedWrites: number;
  /** Whether what was sold and what is left make up what there was. */
  readonly isExact: boolean;
}

export interface RoundFacts {
  readonly round: RoundName;
  readonly stock: number;
  readonly left: number;
  readonly startedMs: number;
  readonly pausedMs: number | null;
  readonly refusedWrites: number;
  /** Sold to buyers outside the pool. */
  readonly soldBeside: number;
}

export function settleRound(pool: BuyerPool, facts: RoundFacts): RoundResult {
  const { round, stock, left, startedMs, pausedMs } = facts;
  const sold = pool.sold + facts.soldBeside;
  const endedMs = pool.receipts.at(-1)?.atMs ?? performance.now();
  const seconds = Math.max(0.001, (endedMs - startedMs) / 1000);
  const lostUpdates = sold - (stock - left);
  return {
    round,
    stock,
    sold,
    left,
    oversold: Math.max(0, sold - stock),
    lostUpdates,
    seconds: Math.round(seconds * 1000) / 1000,
    salesPerSecond: Math.round(sold / seconds),
    handovers: round === 'without' ? null : countHandovers(pool.receipts),
    pausedMs: pausedMs === null ? null : Math.round(pausedMs),
    refusedWrites: facts.refusedWrites + pool.refused,
    isExact: lostUpdates === 0 && sold <= stock,
  };
}

/** Whether the round showed what it is there to show. */
export function isAsPromised({ round, isExact, refusedWrites }: RoundResult): boolean {
  if (round === 'without') return true;
  return isExact && (round !== 'frozen' || refusedWrites > 0);
}
