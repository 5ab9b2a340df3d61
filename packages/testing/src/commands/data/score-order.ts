/** The order of a sorted set, and ranges of scores. */
import { CommandError } from '../../protocol/command-error.ts';
import { floatOf } from '../../protocol/number-text.ts';
import type { KeySpace } from '../../state/key-space.ts';

export type Scored = readonly [member: string, score: number];

const NO_SCORES: ReadonlyMap<string, number> = new Map();

export const NOT_A_SCORE_RANGE = 'ERR min or max is not a float';

export function scoresAt(keys: KeySpace, key: string): ReadonlyMap<string, number> {
  return keys.find(key, 'zset')?.scores ?? NO_SCORES;
}

/** Members with their scores, ordered by score, then by the bytes of the member. */
export function sorted(scores: ReadonlyMap<string, number>): Scored[] {
  return [...scores].sort(([memberA, scoreA], [memberB, scoreB]) => {
    if (scoreA !== scoreB) return scoreA < scoreB ? -1 : 1;
    return memberA < memberB ? -1 : 1;
  });
}

/** Reads a bound such as `1`, `(1` or `-inf`: a parenthesis excludes the bound from the range. */
function boundOf(bytes: string, refusal: string): { score: number; isOpen: boolean } {
  const isOpen = bytes.startsWith('(');
  const score = floatOf(isOpen ? bytes.slice(1) : bytes, refusal);
  if (Number.isNaN(score)) throw new CommandError(refusal);
  return { score, isOpen };
}

export function withinScores(min: string, max: string, refusal: string): (score: number) => boolean {
  const low = boundOf(min, refusal);
  const high = boundOf(max, refusal);
  return (score) =>
    (low.isOpen ? score > low.score : score >= low.score) &&
    (high.isOpen ? score < high.score : score <= high.score);
}
