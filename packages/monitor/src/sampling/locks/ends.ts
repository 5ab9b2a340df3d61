/** Counts and keeps how holds ended, for rules and metrics. In a quorum one end of several servers is one. */
import { ENDS, type End } from '../../api/types.ts';
import { type Counters, ENDS_KEPT_MAX, ENDS_KEPT_MS, type EndedHold } from '../../figures.ts';
import type { Verdict } from './inference.ts';

export class Ends {
  readonly #counts: Record<End, number> = Object.fromEntries(ENDS.map((end) => [end, 0])) as Record<
    End,
    number
  >;
  #kept: EndedHold[] = [];
  #seq = 0;

  add(at: number, name: string, holder: string, { end, sure, cause }: Verdict): void {
    this.#counts[end] += 1;
    this.#seq += 1;
    this.#kept.push({ seq: this.#seq, at, name, holder, end, sure, cause });
    if (this.#kept.length > ENDS_KEPT_MAX * 1.5) this.#kept = this.#kept.slice(-ENDS_KEPT_MAX);
  }

  get counters(): Counters {
    return { ends: { ...this.#counts } };
  }

  since(time: number, now: number): readonly EndedHold[] {
    const from = Math.max(time, now - ENDS_KEPT_MS);
    const kept = this.#kept.slice(-ENDS_KEPT_MAX);
    // They are in order but for the second that a judgement takes.
    let first = kept.length;
    while (first > 0 && (kept[first - 1]?.at ?? 0) >= from - 5_000) first -= 1;
    return kept.slice(first).filter(({ at }) => at >= from);
  }

  /** Those that were lost: nobody released them. */
  lostSince(time: number, now: number): number {
    return this.since(time, now).filter(({ end }) => end === 'expired' || end === 'vanished').length;
  }
}

/** Joins what several servers say of the end of one hold: it ends when a majority has it no more. */
export class QuorumEnds {
  readonly #open = new Map<string, { readonly verdicts: Verdict[]; isTold: boolean }>();

  /** `still`: how many servers have it. Returns the verdict when this makes the end. */
  add(key: string, holder: string, verdict: Verdict, still: number, members: number): Verdict | null {
    const id = `${holder} ${key}`;
    const entry = this.#open.get(id) ?? { verdicts: [], isTold: false };
    entry.verdicts.push(verdict);
    if (still === 0) this.#open.delete(id);
    else this.#open.set(id, entry);
    const needed = Math.floor(members / 2) + 1;
    const had = still + entry.verdicts.length;
    if (entry.isTold || still >= needed || had < needed) return null;
    entry.isTold = true;
    return mostCommon(entry.verdicts) ?? verdict;
  }
}

function mostCommon(verdicts: readonly Verdict[]): Verdict | undefined {
  const count = (verdict: Verdict): number => verdicts.filter(({ end }) => end === verdict.end).length;
  return [...verdicts].sort((a, b) => count(b) - count(a))[0];
}
