/**
 * A lone caller in this process. Contestants take turns in blocks of pairs: long enough that each is measured warm,
 * as its user sees it in a loop, and short enough that a slow moment of the machine hits all of them.
 */
import type { Contestant, Entrant } from './contestant.ts';
import { within } from './deadline.ts';
import type { Progress } from './progress.ts';
import { type Measures, messageOf, type Outcome } from './rounds.ts';
import { median, sum } from './statistics.ts';

const KEYS = 1_024;

export interface BlocksPlan {
  readonly title: string;
  readonly rounds: number;
  /** Blocks of each contestant in a round. */
  readonly turns: number;
  /** Acquire and release, so often in a block. */
  readonly pairs: number;
  /** Bound of one block. */
  readonly limitMs: number;
  readonly progress: Progress;
}

interface Seat {
  readonly outcome: Outcome;
  readonly contestant: Contestant;
  /** Counts pairs, so that keys are distinct. */
  pair: number;
}

async function playBlock(seat: Seat, pairs: number): Promise<Measures> {
  const { contestant, outcome } = seat;
  const acquiresMs: number[] = [];
  const releasesMs: number[] = [];
  const pairsMs: number[] = [];
  let failed = 0;
  for (let i = 0; i < pairs; i += 1) {
    seat.pair += 1;
    const key = `${outcome.entrant.id}:${seat.pair % KEYS}`;
    const startedMs = performance.now();
    try {
      const release = await contestant.take(key);
      const takenMs = performance.now();
      await release();
      const endedMs = performance.now();
      acquiresMs.push(takenMs - startedMs);
      releasesMs.push(endedMs - takenMs);
      pairsMs.push(endedMs - startedMs);
    } catch (error) {
      failed += 1;
      if (failed === pairs) throw error;
    }
  }
  return {
    failed,
    acquireMs: median(acquiresMs),
    releaseMs: median(releasesMs),
    pairMs: median(pairsMs),
  };
}

/** Null, and out of the game, when it is stuck or fails. */
async function tryBlock(seat: Seat, { pairs, limitMs }: BlocksPlan): Promise<Measures | null> {
  if (seat.outcome.trouble !== null) return null;
  try {
    return await within(limitMs, playBlock(seat, pairs));
  } catch (error) {
    seat.outcome.trouble = messageOf(error);
    await within(limitMs, seat.contestant.close()).catch(() => {});
    return null;
  }
}

function medianOf(blocks: readonly Measures[]): Measures {
  const keys = Object.keys(blocks[0] ?? {});
  const medians = keys.map((key) => [key, median(blocks.map((block) => block[key] ?? Number.NaN))]);
  return { ...Object.fromEntries(medians), failed: sum(blocks.map(({ failed = 0 }) => failed)) };
}

async function playRound(seats: readonly Seat[], round: number, plan: BlocksPlan): Promise<void> {
  const blocks = new Map<Seat, Measures[]>(seats.map((seat) => [seat, []]));
  for (let turn = 0; turn < plan.turns; turn += 1) {
    for (let i = 0; i < seats.length; i += 1) {
      const seat = seats[(i + turn) % seats.length];
      if (seat === undefined) continue;
      plan.progress.tell(plan.title, `round ${round + 1} of ${plan.rounds}`, seat.outcome.entrant.id);
      const block = await tryBlock(seat, plan);
      if (block !== null) blocks.get(seat)?.push(block);
    }
  }
  for (const [seat, played] of blocks) {
    seat.outcome.rounds.push(played.length === plan.turns ? medianOf(played) : null);
  }
}

export async function inBlocks(
  contestants: ReadonlyMap<Entrant, Contestant>,
  plan: BlocksPlan,
): Promise<Outcome[]> {
  const seats: Seat[] = [...contestants].map(([entrant, contestant]) => ({
    outcome: { entrant, rounds: [], trouble: null },
    contestant,
    pair: 0,
  }));
  // Warm-up: connections, script caches, compiled code; and, where a server is broken, the call that finds out.
  for (const seat of seats) {
    plan.progress.tell(plan.title, 'warm-up', seat.outcome.entrant.id);
    await tryBlock(seat, plan);
    await tryBlock(seat, plan);
  }
  for (let round = 0; round < plan.rounds; round += 1) await playRound(seats, round, plan);
  return seats.map((seat) => seat.outcome);
}

export async function openAll(
  entrants: readonly Entrant[],
  open: (entrant: Entrant) => Promise<Contestant> | undefined,
): Promise<Map<Entrant, Contestant>> {
  const contestants = new Map<Entrant, Contestant>();
  for (const entrant of entrants) {
    const contestant = await open(entrant);
    if (contestant !== undefined) contestants.set(entrant, contestant);
  }
  return contestants;
}

export async function closeAll(contestants: ReadonlyMap<Entrant, Contestant>): Promise<void> {
  const limitMs = 2_000;
  for (const contestant of contestants.values()) await within(limitMs, contestant.close()).catch(() => {});
}
