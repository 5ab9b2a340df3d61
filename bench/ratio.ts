/** Ratios of one contestant's measure to another's in the same round: the only figures a busy machine leaves true. */
import type { Entrant } from './contestant.ts';
import type { Measures, Outcome } from './rounds.ts';

type Compare = (own: Measures, base: Measures, entrant: Entrant) => number;

/** Adds a measure that compares each round with the same round of the entrant's yardstick. */
export function withRatio(
  outcomes: readonly Outcome[],
  key: string,
  yardstickOf: (entrant: Entrant) => string,
  compare: Compare,
): Outcome[] {
  return outcomes.map((outcome) => {
    const base = outcomes.find((other) => other.entrant.id === yardstickOf(outcome.entrant));
    const rounds = outcome.rounds.map((own, i) => {
      const other = base?.rounds[i];
      if (own === null || other === null || other === undefined) return own;
      return { ...own, [key]: compare(own, other, outcome.entrant) };
    });
    return { ...outcome, rounds };
  });
}

/** Adds a measure that compares each round with the best peer of the same round; `of` grows with speed. */
export function withBestPeer(outcomes: readonly Outcome[], key: string, of: string): Outcome[] {
  const peers = outcomes.filter(({ entrant }) => entrant.role === 'peer');
  return outcomes.map((outcome) => ({
    ...outcome,
    rounds: outcome.rounds.map((own, i) => {
      const best = Math.max(...peers.map((peer) => peer.rounds[i]?.[of] ?? 0));
      return own === null || !(best > 0) ? own : { ...own, [key]: (own[of] ?? Number.NaN) / best };
    }),
  }));
}

/** Of how much one has, as a multiple of the other. */
export function multipleOf(key: string): Compare {
  return (own, base) => (own[key] ?? Number.NaN) / (base[key] ?? Number.NaN);
}

/** The raw client of the same kind. */
export function rawOf(entrant: Entrant): string {
  return entrant.client === 'ioredis' ? 'raw-ioredis' : 'raw-node-redis';
}
