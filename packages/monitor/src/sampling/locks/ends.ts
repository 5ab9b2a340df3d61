/** Counts and keeps how holds ended, for rules and metrics. In a quorum one end of several servers is one. */
import { ENDS, type End } from '../../api/types.ts';
import { type Counters, ENDS_KEPT_MAX, ENDS_KEPT_MS, type EndedHold } from '../../figures.ts';
import type { LockGroups } from './groups.ts';
import type { Verdict } from './inference.ts';

type Counts = Record<End, number>;

function none(): Counts {
  return Object.fromEntries(ENDS.map((end) => [end, 0])) as Counts;
}

export class Ends {
  #groups: LockGroups | null = null;
  readonly #counts: Counts = none();
  #byGroup: ReadonlyMap<string, Counts> = new Map();
  #kept: EndedHold[] = [];
  #seq = 0;

  constructor(groups: LockGroups | null = null) {
    this.regroup(groups);
  }

  /** Counts by other groups from now on. A group of the same name goes on: a counter must not fall. */
  regroup(groups: LockGroups | null): void {
    const before = this.#byGroup;
    this.#groups = groups;
    this.#byGroup = new Map((groups?.names ?? []).map((name) => [name, before.get(name) ?? none()]));
  }

  add(at: number, name: string, holder: string, { end, sure, cause }: Verdict): void {
    this.#counts[end] += 1;
    const counts = this.#groups === null ? undefined : this.#byGroup.get(this.#groups.of(name));
    if (counts !== undefined) counts[end] += 1;
    this.#seq += 1;
    this.#kept.push({ seq: this.#seq, at, name, holder, end, sure, cause });
    if (this.#kept.length > ENDS_KEPT_MAX * 1.5) this.#kept = this.#kept.slice(-ENDS_KEPT_MAX);
  }

  get counters(): Counters {
    const byGroup = [...this.#byGroup].map(([group, counts]) => [group, { ...counts }] as const);
    return { ends: { ...this.#counts }, byGroup: this.#groups === null ? null : new Map(byGroup) };
  }

  since(time: number, now: number): readonly EndedHold[] {
    const from = Math.max(time, now - ENDS_KEPT_MS);
    const kept = this.#kept.slice(-ENDS_KEPT_MAX);
    // Ends are in the order of their time, except for the second that a judgement takes: 5 s are slack enough.
    let first = kept.length;
    while (first > 0 && (kept[first - 1]?.at ?? 0) >= from - 5_000) first -= 1;
    return kept.slice(first).filter(({ at }) => at >= from);
  }

  /** How many holds were lost since then: nobody released them. */
  lostSince(time: number, now: number): number {
    return this.since(time, now).filter(({ end }) => end === 'expired' || end === 'vanished').length;
  }
}

/** Ends of one hold that servers of a quorum report within this time are one end. */
const OPEN_MS_MAX = 120_000;

interface OpenEnd {
  readonly at: number;
  readonly verdicts: Verdict[];
  isTold: boolean;
}

/** Joins what several servers say of the end of one hold: it ends when a majority has it no more. */
export class QuorumEnds {
  /** In the order of their first verdict. */
  readonly #open = new Map<string, OpenEnd>();

  /** `still`: how many servers have it. Returns the verdict when this makes the end. */
  add(
    key: string,
    holder: string,
    verdict: Verdict,
    still: number,
    members: number,
    at: number,
  ): Verdict | null {
    this.#dropOld(at);
    const id = `${holder} ${key}`;
    const entry = this.#open.get(id) ?? { at, verdicts: [], isTold: false };
    this.#open.set(id, entry);
    entry.verdicts.push(verdict);
    const needed = Math.floor(members / 2) + 1;
    const had = still + entry.verdicts.length;
    const isEnd = !entry.isTold && still < needed && had >= needed;
    entry.isTold ||= isEnd;
    // Servers that still have the hold are too few for another end. Once none has it, the entry goes: the holder may come again.
    if (entry.isTold && still === 0) this.#open.delete(id);
    return isEnd ? (mostCommon(entry.verdicts) ?? verdict) : null;
  }

  /** A verdict of a minority that nobody joined, or of a server that was slower than the majority. */
  #dropOld(now: number): void {
    for (const [id, { at }] of this.#open) {
      if (now - at <= OPEN_MS_MAX) return;
      this.#open.delete(id);
    }
  }
}

function mostCommon(verdicts: readonly Verdict[]): Verdict | undefined {
  const count = (verdict: Verdict): number => verdicts.filter(({ end }) => end === verdict.end).length;
  return [...verdicts].sort((a, b) => count(b) - count(a))[0];
}
