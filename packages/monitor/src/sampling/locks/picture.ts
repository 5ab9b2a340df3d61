/**
 * The picture of all locks, kept up to date by the lanes: rows, how holds ended, the history. It says which names have changed
 * since it was last asked, for the stream.
 *
 * In this folder: a lane for each primary, the scripts that it runs, what it knows of each name, and how holds ended.
 * Only `sampling/`, `options.ts`, `http/metrics.ts` and `alerts/config/` import from here: the last two need the
 * groups of names.
 */
import type { HoldView, Row, Totals } from '../../api/types.ts';
import { Ends, QuorumEnds } from './ends.ts';
import type { LockGroups } from './groups.ts';
import { HoldRing } from './hold-ring.ts';
import type { Verdict } from './inference.ts';
import type { Gone } from './known-names.ts';
import type { Lane } from './lane.ts';
import { isHeld, keepIfSame, makeRow, type Owner, type Seen } from './rows.ts';

const HOUR_MS = 3_600_000;
const LOST_WINDOW_MS = 300_000;
const HOLDS_SHOWN_MAX = 200;

export interface PictureTerms {
  readonly prefix: string;
  readonly now: () => number;
  /** Members of a quorum; `null` where one server decides about a name. */
  readonly members: number | null;
  readonly lanes: () => readonly Lane[];
  readonly ownerOf: (holder: string) => Owner;
  /** For counting ends; `null` without groups. */
  readonly groups: LockGroups | null;
}

export class Picture {
  readonly rows: Map<string, Row> = new Map();
  readonly ends: Ends;
  readonly #terms: PictureTerms;
  readonly #past: HoldRing;
  readonly #quorumEnds = new QuorumEnds();
  readonly beganAt: number;
  readonly #leases: { readonly at: number; readonly ms: number }[] = [];
  #changed = new Set<string>();
  #bySession = new Map<string, Set<string>>();

  constructor(terms: PictureTerms, holdsMax?: number) {
    this.#terms = terms;
    this.ends = new Ends(terms.groups);
    this.#past = new HoldRing(holdsMax);
    this.beganAt = terms.now();
  }

  /** Names whose row changed or went since the last call. */
  takeChanged(): Set<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  /** A lane has looked at those keys. */
  looked(keys: readonly string[]): void {
    for (const key of keys) this.#update(key);
  }

  /** The record of a session has changed. */
  renamed(session: string): void {
    for (const name of [...(this.#bySession.get(session) ?? [])]) this.#update(this.#terms.prefix + name);
  }

  #update(key: string): void {
    const { prefix, now, members, lanes, ownerOf } = this.#terms;
    if (!key.startsWith(prefix) || key.length === prefix.length) return;
    const name = key.slice(prefix.length);
    const seen: Seen[] = [];
    for (const { known, watch } of lanes()) {
      const state = known.get(key);
      if (state?.seenAt == null) continue;
      seen.push({ server: watch.id, state, toOurs: (ms) => watch.toOurs(ms) });
    }
    const made = makeRow(seen, { name, ownerOf, now: now(), members });
    const before = this.rows.get(name);
    if (made === null) {
      if (before === undefined) return;
      this.rows.delete(name);
      this.#index(name, before.holder, null);
      this.#changed.add(name);
      return;
    }
    const row = keepIfSame(before, made);
    if (row === before) return;
    this.rows.set(name, row);
    this.#index(name, before?.holder ?? null, row.holder);
    if (row.leaseMs !== null) this.#noteLease(row.leaseMs);
    this.#changed.add(name);
  }

  #index(name: string, before: string | null, after: string | null): void {
    if (before === after) return;
    if (before !== null) {
      const names = this.#bySession.get(sessionOf(before));
      names?.delete(name);
      if (names?.size === 0) this.#bySession.delete(sessionOf(before));
    }
    if (after !== null && after !== '') {
      const names = this.#bySession.get(sessionOf(after)) ?? new Set();
      this.#bySession.set(sessionOf(after), names.add(name));
    }
  }

  /** Kept as a falling line of maxima: the first is the longest of the hour. */
  #noteLease(ms: number): void {
    const at = this.#terms.now();
    while ((this.#leases.at(-1)?.ms ?? Number.POSITIVE_INFINITY) <= ms) this.#leases.pop();
    this.#leases.push({ at, ms });
  }

  get longestLeaseMs(): number | null {
    const now = this.#terms.now();
    while (this.#leases.length > 1 && now - (this.#leases[0]?.at ?? now) > HOUR_MS) this.#leases.shift();
    return this.#leases[0]?.ms ?? null;
  }

  /** A lane knows how a hold has ended. */
  ended(lane: Lane, gone: Gone, verdict: Verdict): void {
    const { prefix, members, lanes, ownerOf } = this.#terms;
    const { hold } = gone;
    if (!hold.name.startsWith(prefix)) return;
    let told: Verdict | null = verdict;
    if (members !== null) {
      const still = lanes().filter(({ known }) => known.get(hold.name)?.hold?.holder === hold.holder).length;
      told = this.#quorumEnds.add(hold.name, hold.holder, verdict, still, members, gone.goneAt);
    }
    if (told === null) return;
    const name = hold.name.slice(prefix.length);
    const { app, host, pid } = ownerOf(hold.holder);
    this.ends.add(gone.goneAt, name, hold.holder, told);
    this.#past.add({
      name,
      holder: hold.holder,
      who: JSON.stringify([app, host, pid]),
      from: lane.watch.toOurs(hold.grantedMs),
      to: endOf(lane, gone, told),
      end: told.end,
      sure: told.sure,
      withinMs: gone.goneAt - gone.seenAt,
    });
  }

  /** Since when ended holds are remembered. */
  get reach(): number {
    return this.#past.since ?? this.beganAt;
  }

  holdsOf(name: string): HoldView[] {
    const past = this.#past.of(name, this.#terms.now() - HOUR_MS, HOLDS_SHOWN_MAX).map((hold): HoldView => {
      const [app, host, pid] = JSON.parse(hold.who) as [string | null, string | null, number | null];
      const { holder, from, to, end, sure, withinMs } = hold;
      return { holder, app, host, pid, from, to, end, sure, withinMs };
    });
    const row = this.rows.get(name);
    if (row === undefined || row.kind === 'free' || row.grantedAt === null) return past;
    const { holder, app, host, pid, grantedAt: from } = row;
    return [{ holder, app, host, pid, from, to: null, end: null, sure: null, withinMs: null }, ...past];
  }

  totals(): Totals {
    let held = 0;
    let waiting = 0;
    let late = 0;
    for (const row of this.rows.values()) {
      if (isHeld(row)) held += 1;
      waiting += row.waiting;
      if (row.late) late += 1;
    }
    const now = this.#terms.now();
    return {
      held,
      waiting,
      late,
      lost: this.ends.lostSince(now - LOST_WINDOW_MS, now),
      lookedAt: this.lookedAt,
    };
  }

  /** When the slowest lane last looked at all; `null` while one has not. */
  get lookedAt(): number | null {
    const lanes = this.#terms.lanes();
    if (lanes.length === 0) return null;
    let oldest = Number.POSITIVE_INFINITY;
    for (const { lookedAt } of lanes) {
      if (lookedAt === null) return null;
      oldest = Math.min(oldest, lookedAt);
    }
    return oldest;
  }
}

/** A lease that ran out ended then; what was taken or given back ended between the looks. */
function endOf(lane: Lane, { hold, goneAt }: Gone, { end }: Verdict): number {
  const isByTime = end === 'expired' || end === 'ran-out' || end === 'unconfirmed';
  return isByTime && hold.expiresMs !== null ? lane.watch.toOurs(hold.expiresMs) : goneAt;
}

function sessionOf(holder: string): string {
  const colon = holder.indexOf(':');
  return colon < 0 ? holder : holder.slice(0, colon);
}
