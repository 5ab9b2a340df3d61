/** Participants that contend for one name at the same time, and what came of it. */
import type { ContendRequest, GuardKind } from '../messages.ts';
import { readTurns, type Turn } from './journal.ts';
import type { Participant } from './participant.ts';

/** For the last owners to come to their end, and for a machine that is busy. */
const END_LIMIT_MS = 120_000;

export interface Caller {
  readonly participant: Participant;
  readonly kind: GuardKind;
  /** @default 1 */
  readonly threads?: number;
  /** @default 0 */
  readonly pauseMs?: number;
}

export interface Share {
  readonly who: string;
  /** Those that began while everybody still contended. */
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
  callers: readonly Caller[],
  terms: Pick<ContendRequest, 'name' | 'durationMs' | 'sectionMs' | 'journal'>,
): Promise<Contest> {
  const endMs = Date.now() + terms.durationMs;
  const answers = await Promise.all(
    callers.map(async ({ participant, kind, threads = 1, pauseMs = 0 }) => {
      const { who } = participant;
      const request = { ...terms, kind, threads, pauseMs, who };
      return { who, ...(await participant.request('contend', request, terms.durationMs + END_LIMIT_MS)) };
    }),
  );
  const turns = readTurns(terms.journal);
  const told = answers.reduce((total, answer) => total + answer.turns, 0);
  if (turns.length !== told)
    throw new Error(`the journal has ${turns.length} turns, its writers had ${told}`);
  // Whoever never got in beside the others gets in when they have stopped. That turn says nothing.
  const before = turns.filter(({ enteredMs }) => enteredMs < endMs);
  const shares = answers.map(({ who, waitsMs }) => ({
    who,
    turns: before.filter((turn) => turn.who === who).length,
    waitMsMedian: median(waitsMs),
    waitMsMax: Math.max(0, ...waitsMs),
  }));
  return { turns, shares };
}

/** Of an even number the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const at = (index: number): number => sorted[index] ?? Number.NaN;
  return (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2;
}

/** One line for people: `1012 turns: node-1 812 (wait 4, at most 31 ms)`. */
export function describeShares(shares: readonly Share[]): string {
  const parts = shares.map(
    ({ who, turns, waitMsMedian, waitMsMax }) =>
      `${who} ${turns} (wait ${Math.round(waitMsMedian)}, at most ${Math.round(waitMsMax)} ms)`,
  );
  return `${turnsIn(shares)} turns: ${parts.join('; ')}`;
}

export function turnsIn(shares: readonly Share[]): number {
  return shares.reduce((total, { turns }) => total + turns, 0);
}
