/** The names that one lane knows, with what the last look saw of each. Ended holds are handed to `ended`. */
import type { Sample } from './sample.ts';
import { TrackedHold } from './tracked-hold.ts';

/** A name that nobody holds or waits for is still looked at for this long: locks come back. */
const KEPT_FREE_MS = 60_000;
/** How many names that nobody holds or waits for are kept at most. */
const KEPT_FREE_MAX = 2_000;

/** How many names are known at most: a look at all of them takes 20 s. Further names are not taken up, and the page and `/metrics` say so. */
const NAMES_MAX = 100_000;

/** A renewing lease as short as this is over before the next look in turn. */
const SHORT_LEASE_MS = 4_000;

/** What is known of one name. */
export class NameState {
  hold: TrackedHold | null = null;
  waiting = 0;
  firstSinceMs: number | null = null;
  /** When it was last looked at, by the server's clock and by ours; `null`: never. */
  serverMs: number | null = null;
  seenAt: number | null = null;
  /** Since when nobody holds it or waits for it, by our clock. */
  freeSince: number;
  /** A string of another library, known because it fits a pattern of the configuration. */
  readonly isForeign: boolean;

  constructor(now: number, isForeign: boolean) {
    this.freeSince = now;
    this.isForeign = isForeign;
  }
}

/** A hold that a look did not find any more. */
export interface Gone {
  readonly hold: TrackedHold;
  /** By the server's clock. */
  readonly goneMs: number;
  /** By our clock: the look that last saw it was sent then, and the one that missed it. */
  readonly seenAt: number;
  readonly goneAt: number;
}

export class KnownNames {
  readonly #states = new Map<string, NameState>();
  readonly #ended: (gone: Gone) => void;
  readonly #max: number;
  /** Holds that began or ended so far. */
  changes = 0;

  constructor(ended: (gone: Gone) => void, max: number = NAMES_MAX) {
    this.#ended = ended;
    this.#max = max;
  }

  get size(): number {
    return this.#states.size;
  }

  names(): string[] {
    return [...this.#states.keys()];
  }

  get(name: string): NameState | undefined {
    return this.#states.get(name);
  }

  entries(): IterableIterator<[string, NameState]> {
    return this.#states.entries();
  }

  /** False when there is no room for the name. */
  add(name: string, now: number, whose: 'ours' | 'foreign' = 'ours'): boolean {
    if (this.#states.has(name)) return true;
    if (this.#states.size >= this.#max) return false;
    this.#states.set(name, new NameState(now, whose === 'foreign'));
    return true;
  }

  /** What a look saw. `sentAt`: when it was sent, by our clock. */
  see(sample: Sample, serverMs: number, sentAt: number): void {
    const { name } = sample;
    if (sample.kind === 'away') {
      this.#states.delete(name);
      return;
    }
    let state = this.#states.get(name);
    if (state === undefined) {
      if (sample.kind === 'none' || this.#states.size >= this.#max) return;
      state = new NameState(sentAt, false);
      this.#states.set(name, state);
    }
    // Two lanes of looks run side by side: an answer that was overtaken says nothing new.
    if (state.serverMs !== null && serverMs < state.serverMs) return;
    this.#see(state, sample, serverMs, sentAt);
  }

  #see(state: NameState, sample: Sample, serverMs: number, sentAt: number): void {
    const isHeld = sample.kind === 'lock' || sample.kind === 'mutex';
    const before = state.hold;
    const isSame =
      isHeld && before !== null && before.holder === sample.holder && before.kind === sample.kind;
    if (before !== null && !isSame) {
      this.changes += 1;
      this.#ended({ hold: before, goneMs: serverMs, seenAt: state.seenAt ?? sentAt, goneAt: sentAt });
    }
    if (isSame) before.see(sample, serverMs);
    else if (isHeld) {
      this.changes += 1;
      const seenBefore = state.serverMs === null ? null : { hadLine: state.waiting > 0 };
      state.hold = new TrackedHold(sample, serverMs, seenBefore);
    } else state.hold = null;
    state.waiting = sample.waiting;
    state.firstSinceMs = sample.firstSinceMs;
    state.serverMs = serverMs;
    state.seenAt = sentAt;
    if (isHeld || sample.waiting > 0) state.freeSince = Number.POSITIVE_INFINITY;
    else if (state.freeSince === Number.POSITIVE_INFINITY) state.freeSince = sentAt;
  }

  /** Names of holds whose end could be missed between two rounds. */
  *urgent(most: number): Generator<string> {
    let count = 0;
    for (const [name, { hold }] of this.#states) {
      if (hold === null || !hold.renewing) continue;
      if (!hold.isLate && (hold.leaseMs ?? SHORT_LEASE_MS) >= SHORT_LEASE_MS) continue;
      yield name;
      count += 1;
      if (count === most) return;
    }
  }

  /** Forgets names that have been free for long, and the oldest of too many. */
  dropOld(now: number): void {
    const free: [string, number][] = [];
    for (const [name, { freeSince }] of this.#states) {
      if (now - freeSince > KEPT_FREE_MS) this.#states.delete(name);
      else if (freeSince !== Number.POSITIVE_INFINITY) free.push([name, freeSince]);
    }
    if (free.length <= KEPT_FREE_MAX) return;
    free.sort((a, b) => a[1] - b[1]);
    for (const [name] of free.slice(0, free.length - KEPT_FREE_MAX)) this.#states.delete(name);
  }

  /** Forgets the strings of other libraries that are wanted no more, and says which. Nothing is concluded of their end. */
  dropForeign(isWanted: (name: string) => boolean): string[] {
    const dropped = [...this.#states].flatMap(([name, { isForeign }]) =>
      isForeign && !isWanted(name) ? [name] : [],
    );
    for (const name of dropped) this.#states.delete(name);
    return dropped;
  }

  /** Takes over what another lane knew: its server was replaced by ours. */
  adopt(other: KnownNames): void {
    for (const [name, state] of other.#states) if (!this.#states.has(name)) this.#states.set(name, state);
    other.#states.clear();
  }
}
