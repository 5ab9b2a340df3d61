/**
 * Rounds in which every participant is measured once, so that a slow minute of the machine affects all of them. A
 * participant that got stuck or failed is left out of the rest: its time limit is spent once, not in every round.
 */
import type { Measures, Outcome } from '../measure/outcome.ts';
import type { Participant } from '../participants/participant.ts';
import type { Progress } from './progress.ts';
import { turnsOf } from './turns.ts';

export interface RoundsPlan {
  readonly title: string;
  readonly rounds: number;
  readonly progress: Progress;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export async function inRounds(
  participants: readonly Participant[],
  { title, rounds, progress }: RoundsPlan,
  measure: (participant: Participant, round: number) => Promise<Measures>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = participants.map((participant) => ({ participant, rounds: [], failure: null }));
  for (let round = 0; round < rounds; round += 1) {
    for (const outcome of turnsOf(outcomes, round)) {
      if (outcome.failure !== null) {
        outcome.rounds.push(null);
        continue;
      }
      progress.tell(title, `round ${round + 1} of ${rounds}`, outcome.participant.id);
      try {
        outcome.rounds.push(await measure(outcome.participant, round));
      } catch (error) {
        outcome.failure = messageOf(error);
        outcome.rounds.push(null);
      }
    }
  }
  return outcomes;
}
