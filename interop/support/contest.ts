/** Participants that contend for one name at the same time, and what came of it. */
import type { ContendOrder, GuardKind } from '../orders.ts';
import { readTurns, type Turn } from './journal.ts';
import type { Participant } from './participant.ts';

/** For the last owners to come to their end, and for a machine that is busy. */
const END_LIMIT_MS = 120_000;

export interface Contender {
  readonly participant: Participant;
  readonly kind: GuardKind;
  /** @default 1 */
  readonly threads?: number;
  /** @default 0 */
  readonly pauseMs?: number;
}

export interface Share {
  readonly who: string;
  readonly turns: number;
  readonly waitMsMedian: number;
  readonly waitMsMax: number;
}

export interface Contest {
  /** In the order of ownership. Reading them has checked that no two overlapped. */
  readonly turns: readonly Turn[];
  readonly shares: readonly Share[];
}

export async function contest(
  contenders: readonly Contender[],
  terms: Pick<ContendOrder, 'name' | 'durationMs' | 'sectionMs' | 'journal'>,
): Promise<Contest> {
  const shares = await Promise.all(
    contenders.map(async ({ participant, kind, threads = 1, pauseMs = 0 }) => {
      const { who } = participant;
      const order = { ...terms, kind, threads, pauseMs, who };
      const { turns, waitsMs } = await participant.order('contend', order, terms.durationMs + END_LIMIT_MS);
      return { who, turns, waitMsMedian: median(waitsMs), waitMsMax: Math.max(...waitsMs) };
    }),
  );
  return { turns: readTurns(terms.journal), shares };
}

/** Of an even number the upper one of the middle two. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** One line for people: `node-1 812 (wait 4.1, at most 31 ms)`. */
export function describeShares(shares: readonly Share[]): string {
  return shares
    .map(
      ({ who, turns, waitMsMedian, waitMsMax }) =>
        `${who} ${turns} (wait ${waitMsMedian}, at most ${waitMsMax} ms)`,
    )
    .join('; ');
}
