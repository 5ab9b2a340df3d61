/** The fences of a hold on several servers: which block its owner gets, and which servers store the end of it. */
import type { AcquireResult, Granted } from '../topology.ts';

/** The answers so far, in the order of the servers; undefined: not yet. */
export type Votes = readonly (AcquireResult | undefined)[];

/** The fences of an owner. */
export interface Block {
  readonly first: number;
  readonly last: number;
}

/**
 * The block that begins at the largest fence given. Servers that begin there may have granted blocks of different
 * lengths; the shortest is what all of them have.
 */
export function highestBlock(votes: Votes): Block {
  let first = 0;
  let last = 0;
  for (const vote of votes) {
    if (vote?.is !== 'granted' || vote.firstFence === undefined || vote.firstFence < first) continue;
    const end = lastFence(vote);
    last = vote.firstFence === first ? Math.min(last, end) : end;
    first = vote.firstFence;
  }
  return { first, last };
}

function lastFence({ firstFence = 0, fences }: Granted): number {
  return firstFence + fences - 1;
}

/** Whether the server of that vote stores the end of the block, or more. The fences that it gave are ours alone. */
export function reaches(vote: Granted, { last }: Block): boolean {
  return lastFence(vote) >= last;
}

export function countReaching(votes: Votes, block: Block): number {
  let sum = 0;
  for (const vote of votes) if (vote?.is === 'granted' && reaches(vote, block)) sum += 1;
  return sum;
}
