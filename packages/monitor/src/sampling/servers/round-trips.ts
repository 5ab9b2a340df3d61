/** Round trips of the last minute, and the difference of a server's clock to ours, both from TIME. */

/** How many round trips are kept: one a second, for a minute. */
const KEPT = 60;

/** A measured difference is replaced by one that is surer, or when it is this old: clocks drift. */
const OFFSET_MS_MAX = 30_000;

export class RoundTrips {
  readonly #times = new Float64Array(KEPT);
  #count = 0;
  #offset: { readonly ms: number; readonly errorMs: number; readonly at: number } | null = null;

  /** `sentMs` and `gotMs` by our clock, `serverMs` by the server's. */
  add(sentMs: number, gotMs: number, serverMs: number): void {
    const tookMs = gotMs - sentMs;
    this.#times[this.#count % KEPT] = tookMs;
    this.#count += 1;
    const found = { ms: serverMs - (sentMs + gotMs) / 2, errorMs: tookMs / 2, at: gotMs };
    const known = this.#offset;
    const isOld = known === null || gotMs - known.at > OFFSET_MS_MAX;
    // A clock that was set says so beyond the error of both.
    const hasJumped = known !== null && Math.abs(found.ms - known.ms) > found.errorMs + known.errorMs + 5;
    if (isOld || hasJumped || found.errorMs < known.errorMs) this.#offset = found;
  }

  /** `null` before the first. */
  get offset(): { readonly ms: number; readonly errorMs: number } | null {
    return this.#offset;
  }

  quantile(share: number): number | null {
    const count = Math.min(this.#count, KEPT);
    if (count === 0) return null;
    const sorted = this.#times.slice(0, count).sort();
    return sorted[Math.min(count - 1, Math.floor(share * count))] ?? null;
  }
}
