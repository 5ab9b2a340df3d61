/** What was measured of one participant over all rounds. */
import type { Participant } from '../participants/participant.ts';

/** What was measured in one round, by the keys of columns. */
export type Measures = Readonly<Record<string, number>>;

export interface Outcome {
  readonly participant: Participant;
  /** One for each round; null where the participant was left out. */
  readonly rounds: (Measures | null)[];
  /** Why the participant was left out. */
  failure: string | null;
}
