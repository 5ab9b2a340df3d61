/**
 * Which holds ended because an operator took the lock away, by the audit trail. A release by force ends the hold that is there
 * between its two entries, `asked` and `done`, and no other hold of that owner: a thread of Redisson has the same holder
 * each time.
 */

/** How the looks at one server bound the end of a hold. Times are of that server's clock. */
export interface HoldEnd {
  readonly name: string;
  readonly holder: string;
  readonly server: string;
  /** The last look that saw the hold. */
  readonly seenMs: number;
  /** The first look that missed the hold. */
  readonly goneMs: number;
}

interface Release {
  /** `null` until the entry `asked` was read: another server of the quorum may have it. */
  about: { readonly name: string; readonly holder: string } | null;
  askedMs: number;
  /** `null` until the entry `done` was read. */
  doneMs: number | null;
  isRefused: boolean;
  /** Servers on which an end was put down to this release. */
  readonly endedOn: Set<string>;
}

/** Every result of a release that took the lock begins so; the others are "not done: …" and "nobody held it". */
const TAKEN = /^released\b/;

/** The newest releases; holds are judged within a minute of their end. */
const RELEASES_MAX = 1_000;

/** How long a release may take whose `done` was never written: its calls have a time limit of seconds. */
const DONE_MS_MAX = 60_000;

/** The trail may be on another server than the lock. The rule `clocks-apart` warns when clocks differ by a second. */
const CLOCKS_APART_MS = 2_000;

export class ForcedReleases {
  readonly #releases = new Map<string, Release>();

  /** Also several times: each server of a quorum has the entry, at a time of its own. */
  asked(id: string, name: string, holder: string, atMs: number): void {
    const release = this.#of(id);
    release.about = { name, holder };
    release.askedMs = Math.min(release.askedMs, atMs);
  }

  /** `atMs`: when the entry was written; `null`: not yet. */
  done(id: string, result: string, atMs: number | null): void {
    const release = this.#of(id);
    release.isRefused = !TAKEN.test(result);
    if (atMs !== null) release.doneMs = Math.max(release.doneMs ?? atMs, atMs);
  }

  /** Whether a release made that end. Each release makes one end on each server. */
  take(end: HoldEnd): boolean {
    for (const release of this.#releases.values()) {
      if (!isMadeBy(release, end)) continue;
      release.endedOn.add(end.server);
      return true;
    }
    return false;
  }

  #of(id: string): Release {
    const known = this.#releases.get(id);
    if (known !== undefined) return known;
    const release: Release = {
      about: null,
      askedMs: Number.POSITIVE_INFINITY,
      doneMs: null,
      isRefused: false,
      endedOn: new Set(),
    };
    this.#releases.set(id, release);
    if (this.#releases.size > RELEASES_MAX)
      this.#releases.delete(this.#releases.keys().next().value as string);
    return release;
  }
}

function isMadeBy({ about, askedMs, doneMs, isRefused, endedOn }: Release, end: HoldEnd): boolean {
  if (about === null || about.name !== end.name || about.holder !== end.holder) return false;
  if (isRefused || endedOn.has(end.server)) return false;
  const lastMs = doneMs ?? askedMs + DONE_MS_MAX;
  return end.goneMs >= askedMs - CLOCKS_APART_MS && end.seenMs <= lastMs + CLOCKS_APART_MS;
}
