/** How a hold ended, in words that say how sure that is. Nothing here touches the browser. */
import type { End, HoldView } from '../../src/api/types.ts';
import { milliseconds, seconds } from './words.ts';

const WORDS: Readonly<Record<End, string>> = {
  released: 'released',
  expired: 'expired',
  'ran-out': 'ran out (fixed lease)',
  forced: 'taken away',
  vanished: 'vanished',
  unconfirmed: 'never confirmed',
  unknown: 'end not known',
};

const MEANINGS: Readonly<Record<End, string>> = {
  released: 'The key was gone before its time was over.',
  expired: 'The owner renewed before, then stopped, and the lease ended: it froze, died or lost its network.',
  'ran-out': 'The time was over, and had never been prolonged: a lease that is not renewed.',
  forced: 'An operator took it away. See Audit.',
  vanished: 'Redis lost it: a restart, a flush, an eviction or a failover.',
  unconfirmed: 'It was seen once only, as a claim.',
  unknown: 'The monitor was not looking.',
};

/** Ends that an operator should know of. */
const BAD: ReadonlySet<End> = new Set<End>(['expired', 'vanished', 'forced']);

export function isBadEnd(end: End | null): boolean {
  return end !== null && BAD.has(end);
}

/** "expired, to 250 ms", "ran out (fixed lease), likely", "released". */
export function endWords({ end, sure, withinMs }: Pick<HoldView, 'end' | 'sure' | 'withinMs'>): string {
  if (end === null) return 'held now';
  const parts = [WORDS[end]];
  if (sure === 'likely' && end !== 'unknown') parts.push('likely');
  if (withinMs !== null && withinMs > 0 && end !== 'unknown') {
    parts.push(`to ${withinMs < 1_000 ? milliseconds(withinMs) : seconds(withinMs)}`);
  }
  return parts.join(', ');
}

export function endMeaning(end: End | null): string | undefined {
  return end === null ? undefined : MEANINGS[end];
}
