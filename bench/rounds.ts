/**
 * Rounds in which every contestant plays once, so that a slow minute of the machine hits all of them, each round
 * beginning with another one. Who got stuck or failed sits out the rest: a bound is spent once, not once a round.
 */
import type { Entrant } from './contestant.ts';
import type { Progress } from './progress.ts';

/** What one cell measured, by the names of columns. */
export type Measures = Readonly<Record<string, number>>;

export interface Outcome {
  readonly entrant: Entrant;
  /** One for each round; null where it sat out. */
  readonly rounds: (Measures | null)[];
  /** Why it sat out. */
  trouble: string | null;
}

export interface RoundsPlan {
  readonly title: string;
  readonly rounds: number;
  readonly progress: Progress;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export async function inRounds(
  entrants: readonly Entrant[],
  { title, rounds, progress }: RoundsPlan,
  cell: (entrant: Entrant, round: number) => Promise<Measures>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = entrants.map((entrant) => ({ entrant, rounds: [], trouble: null }));
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < outcomes.length; turn += 1) {
      const outcome = outcomes[(turn + round) % outcomes.length];
      if (outcome === undefined) continue;
      if (outcome.trouble !== null) {
        outcome.rounds.push(null);
        continue;
      }
      progress.tell(title, `round ${round + 1} of ${rounds}`, outcome.entrant.id);
      try {
        outcome.rounds.push(await cell(outcome.entrant, round));
      } catch (error) {
        outcome.trouble = messageOf(error);
        outcome.rounds.push(null);
      }
    }
  }
  return outcomes;
}
