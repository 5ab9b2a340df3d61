/** Which locks the table shows, and in which order. Nothing here touches the browser. */
import type { Row } from '../../src/api/types.ts';

export const SHOWS = ['all', 'waited for', 'late', 'long'] as const;
export type Show = (typeof SHOWS)[number];

export const SORTS = ['trouble', 'name', 'held', 'time left', 'waiting'] as const;
export type Sort = (typeof SORTS)[number];

export interface Choice {
  readonly text: string;
  readonly show: Show;
  readonly sort: Sort;
}

/** From here a hold counts as long: the default of the rule `lock-held-long`. */
const LONG_MS = 600_000;

/** `ok`: held and renewed or within its lease. The others are trouble, but `free` and `overdue` may be of a moment. */
export type Condition = 'ok' | 'late' | 'no expiry' | 'owner gone' | 'overdue' | 'free' | 'split';

export function conditionOf(row: Row, now: number): Condition {
  if (row.kind === 'free') return 'free';
  if (row.eternal) return 'no expiry';
  if (row.ownerGone) return 'owner gone';
  if (row.late) return 'late';
  if (row.votes !== null && row.votes.has * 2 <= row.votes.of) return 'split';
  if (row.expiresAt !== null && row.expiresAt < now) return 'overdue';
  return 'ok';
}

/** Conditions that come first in the order "trouble". A hold that is a moment over its time is just being released. */
const TROUBLE: ReadonlySet<Condition> = new Set<Condition>(['late', 'no expiry', 'owner gone', 'split']);

function isTrouble(condition: Condition): boolean {
  return TROUBLE.has(condition);
}

const haystacks = new WeakMap<Row, string>();

/** What the filter looks in. Made once for a row: rows are replaced, not changed. */
function haystackOf(row: Row): string {
  const known = haystacks.get(row);
  if (known !== undefined) return known;
  const text = `${row.name}\n${row.app ?? ''} ${row.host ?? ''} ${row.pid ?? ''} ${row.holder}`.toLowerCase();
  haystacks.set(row, text);
  return text;
}

function isShown(row: Row, show: Show, now: number): boolean {
  if (show === 'waited for') return row.waiting > 0;
  if (show === 'late') return isTrouble(conditionOf(row, now));
  if (show === 'long') return row.grantedAt !== null && now - row.grantedAt >= LONG_MS;
  return true;
}

const NEVER = Number.MAX_SAFE_INTEGER;

/** Smaller comes first: compared from the left, and by the name in the end, so that equal rows keep their places. */
interface Ranked {
  readonly name: string;
  readonly first: number;
  readonly second: number;
  readonly third: number;
}

function rankOf(row: Row, sort: Sort, now: number): Ranked {
  const { name, grantedAt, expiresAt, waiting, firstWaitAt } = row;
  if (sort === 'held') return { name, first: grantedAt ?? NEVER, second: 0, third: 0 };
  if (sort === 'time left') return { name, first: expiresAt ?? NEVER, second: 0, third: 0 };
  if (sort === 'waiting') return { name, first: -waiting, second: firstWaitAt ?? NEVER, third: 0 };
  if (sort === 'name') return { name, first: 0, second: 0, third: 0 };
  const first = isTrouble(conditionOf(row, now)) ? 0 : 1;
  return { name, first, second: firstWaitAt ?? NEVER, third: grantedAt ?? NEVER };
}

function compare(a: Ranked, b: Ranked): number {
  if (a.first !== b.first) return a.first - b.first;
  if (a.second !== b.second) return a.second - b.second;
  if (a.third !== b.third) return a.third - b.third;
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
}

/** The names of the rows that fit, in order. Every word of the text must be in the name or the owner. */
export function arrange(rows: Iterable<Row>, { text, show, sort }: Choice, now: number): string[] {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  const ranked: Ranked[] = [];
  for (const row of rows) {
    if (!isShown(row, show, now)) continue;
    if (terms.length > 0) {
      const haystack = haystackOf(row);
      if (!terms.every((term) => haystack.includes(term))) continue;
    }
    ranked.push(rankOf(row, sort, now));
  }
  return ranked.sort(compare).map(({ name }) => name);
}
