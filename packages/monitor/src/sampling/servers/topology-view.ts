/** What holds for all servers together: votes, slots, sentinels, clocks. */
import type { ServerCard, TopologyKind, TopologyView } from '../../api/types.ts';
import type { SentinelWatch } from './sentinel-watch.ts';

export function describeTopology(
  kind: TopologyKind,
  cards: readonly ServerCard[],
  slotsOk: number | null,
  sentinels: readonly Pick<SentinelWatch, 'isUp' | 'quorum' | 'known'>[],
  now: number,
): TopologyView {
  const primaries = cards.filter(({ role }) => role === 'primary');
  const votes = (card: ServerCard): boolean =>
    card.health === 'up' && (card.guardedUntil === null || card.guardedUntil <= now);
  return {
    kind,
    quorum:
      kind === 'quorum'
        ? {
            voters: primaries.filter(votes).length,
            needed: Math.floor(primaries.length / 2) + 1,
            of: primaries.length,
          }
        : null,
    slotsOk: kind === 'cluster' ? slotsOk : null,
    sentinels: kind === 'sentinel' ? describeSentinels(sentinels) : null,
    ...describeClocks(primaries),
  };
}

function describeSentinels(
  sentinels: readonly Pick<SentinelWatch, 'isUp' | 'quorum' | 'known'>[],
): TopologyView['sentinels'] {
  const quorum = sentinels.flatMap((one) => one.quorum ?? []);
  if (quorum.length === 0) return null;
  const needed = Math.max(...quorum);
  const up = sentinels.filter(({ isUp }) => isUp).length;
  const known = Math.max(sentinels.length, ...sentinels.flatMap((one) => one.known ?? []));
  // Sentinels that the client has no address of are not asked. If they could make up the quorum, the answer is not known.
  const unasked = known - sentinels.length;
  if (up < needed && up + unasked >= needed) return null;
  return { up, quorum: needed, known };
}

/** How far the clocks of those that decide are apart. One clock is apart from nothing. */
function describeClocks(cards: readonly ServerCard[]): Pick<TopologyView, 'clockSpreadMs' | 'clockErrorMs'> {
  const known = cards.flatMap(({ clockOffsetMs, clockErrorMs, health }) =>
    health === 'up' && clockOffsetMs !== null && clockErrorMs !== null
      ? [{ offset: clockOffsetMs, error: clockErrorMs }]
      : [],
  );
  if (known.length < 2) return { clockSpreadMs: null, clockErrorMs: null };
  const sorted = known.sort((a, b) => a.offset - b.offset);
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (first === undefined || last === undefined) return { clockSpreadMs: null, clockErrorMs: null };
  return { clockSpreadMs: last.offset - first.offset, clockErrorMs: first.error + last.error };
}
