/**
 * The last releases that were answered. A failover may lose a release: the new primary then still shows an owner that has
 * long gone, for as long as its lease, and nobody comes back to release it. So the releases of the last seconds are sent
 * again when a connection was lost and is restored. One that was not lost finds nothing.
 */
import type { Protocol } from '../protocol.ts';
import type { ReleaseTerms } from '../topology.ts';

/** Longer than a failover takes to be noticed; replication is behind by less. */
const RECENT_MS = 10_000;
const RECENT_MAX = 128;

interface RecentRelease {
  readonly protocol: Protocol;
  readonly terms: ReleaseTerms;
  readonly atMs: number;
}

export class RecentReleases {
  #releases: RecentRelease[] = [];

  note(protocol: Protocol, terms: ReleaseTerms, nowMs: number): void {
    this.#releases.push({ protocol, terms, atMs: nowMs });
    if (this.#releases.length > RECENT_MAX) this.#releases.shift();
  }

  /** Those of the last seconds. Each is given once. */
  take(nowMs: number): readonly RecentRelease[] {
    const recent = this.#releases.filter(({ atMs }) => atMs >= nowMs - RECENT_MS);
    this.#releases = [];
    return recent;
  }
}
