/**
 * One caller, uncontended acquire and release on distinct keys, as a share of the raw client of the same round.
 * Contestants take turns pair by pair, so that a slow moment of the machine hits all of them alike.
 */
import type { Contestant } from '../contestant.ts';
import { type Summary, summarise } from '../statistics.ts';

const KEYS = 1_024;

export interface OneCallerRow {
  readonly name: string;
  readonly yardstick: string;
  /** Speed as a share of the yardstick's: 1 is as fast. */
  readonly ratio: Summary;
}

export interface OneCallerPlan {
  readonly rounds: number;
  readonly pairs: number;
}

/** The first contestant of each group is its yardstick. */
export async function oneCaller(
  groups: readonly (readonly Contestant[])[],
  { rounds, pairs }: OneCallerPlan,
): Promise<OneCallerRow[]> {
  const contestants = groups.flat();
  for (const contestant of contestants) await times(contestant, pairs);
  const ratios = new Map<Contestant, number[]>(contestants.map((contestant) => [contestant, []]));
  for (let round = 0; round < rounds; round += 1) {
    const medians = await playRound(contestants, pairs);
    for (const [yardstick, ...others] of groups) {
      if (yardstick === undefined) continue;
      const base = medians.get(yardstick) ?? Number.NaN;
      for (const other of [yardstick, ...others]) {
        ratios.get(other)?.push(base / (medians.get(other) ?? Number.NaN));
      }
    }
  }
  return groups.flatMap((group) =>
    group.map((contestant) => ({
      name: contestant.name,
      yardstick: group[0]?.name ?? '',
      ratio: summarise(ratios.get(contestant) ?? []),
    })),
  );
}

async function times(contestant: Contestant, pairs: number): Promise<void> {
  for (let i = 0; i < pairs; i += 1) await contestant.once(`${contestant.name}:${i % KEYS}`);
}

async function playRound(
  contestants: readonly Contestant[],
  pairs: number,
): Promise<Map<Contestant, number>> {
  const samples = new Map<Contestant, number[]>(contestants.map((contestant) => [contestant, []]));
  for (let i = 0; i < pairs; i += 1) {
    for (const contestant of contestants) {
      const key = `${contestant.name}:${i % KEYS}`;
      const startedMs = performance.now();
      await contestant.once(key);
      samples.get(contestant)?.push(performance.now() - startedMs);
    }
  }
  return new Map([...samples].map(([contestant, values]) => [contestant, summarise(values).median]));
}
