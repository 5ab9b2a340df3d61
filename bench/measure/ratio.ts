/** Ratios of two participants' measures in the same round: on a busy machine only ratios can be trusted. */
import type { Participant } from '../participants/participant.ts';
import type { Measures, Outcome } from './outcome.ts';

type Compare = (own: Measures, base: Measures, participant: Participant) => number;

/** Adds a measure that compares each round with the same round of the participant's yardstick. */
export function withRatio(
  outcomes: readonly Outcome[],
  key: string,
  yardstickOf: (participant: Participant) => string,
  compare: Compare,
): Outcome[] {
  return outcomes.map((outcome) => {
    const base = outcomes.find((other) => other.participant.id === yardstickOf(outcome.participant));
    const rounds = outcome.rounds.map((own, i) => {
      const other = base?.rounds[i];
      if (own === null || other === null || other === undefined) return own;
      return { ...own, [key]: compare(own, other, outcome.participant) };
    });
    return { ...outcome, rounds };
  });
}

/** Adds a measure that compares each round with the best peer of the same round. The measure `of` grows with speed. */
export function withBestPeer(outcomes: readonly Outcome[], key: string, of: string): Outcome[] {
  const peers = outcomes.filter(({ participant }) => participant.role === 'peer');
  return outcomes.map((outcome) => ({
    ...outcome,
    rounds: outcome.rounds.map((own, i) => {
      const best = Math.max(...peers.map((peer) => peer.rounds[i]?.[of] ?? 0));
      return own === null || !(best > 0) ? own : { ...own, [key]: (own[of] ?? Number.NaN) / best };
    }),
  }));
}

/** The participant's measure as a multiple of its yardstick's. */
export function multipleOf(key: string): Compare {
  return (own, base) => (own[key] ?? Number.NaN) / (base[key] ?? Number.NaN);
}

/** The raw client of the same kind. */
export function rawOf(participant: Participant): string {
  return `raw-${participant.client}`;
}
