/** One hold as the looks of one server have seen it. All times are of that server's clock. */
import type { Ending } from './inference.ts';
import { LATE_SHARE } from './inference.ts';
import type { Sample } from './sample.ts';

/** Fences are microseconds since 1970; a smaller number was counted by something else. */
const FENCE_MIN = 1e15;

/** Sessions of holdfast are UUIDs of version 8: only their fence is the time of their grant. */
const OURS = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}:\d+$/;

/** A PTTL is cut to a ms, and TIME and PTTL of one script are read one after the other. */
const RISE_MS_MIN = 50;

/** The longest claim of a ticket that programs use; `claimMs` is 1 s unless they say otherwise. */
const CLAIM_MS_MAX = 1_500;

export class TrackedHold {
  readonly name: string;
  readonly kind: 'lock' | 'mutex';
  readonly holder: string;
  readonly grantedMs: number;
  /** Whether `grantedMs` is the grant, to a look; otherwise the hold was seen first then. */
  readonly exact: boolean;
  readonly #fromLine: boolean;
  #leaseMs: number;
  #seenMs: number;
  #ttlMs: number;
  #renewedMs: number | null = null;
  #looks = 1;
  count: number;
  fence: number | null;

  /** `before`: when a look last saw the name without this hold; `null` if none did. */
  constructor(sample: Sample, serverMs: number, before: { readonly hadLine: boolean } | null) {
    this.name = sample.name;
    this.kind = sample.kind === 'mutex' ? 'mutex' : 'lock';
    this.holder = sample.holder;
    this.count = sample.count;
    this.fence = sample.fence;
    this.#seenMs = serverMs;
    this.#ttlMs = sample.ttlMs;
    this.#leaseMs = sample.ttlMs;
    this.#fromLine = before?.hadLine === true;
    const isTimed = sample.fence !== null && sample.fence >= FENCE_MIN && OURS.test(sample.holder);
    this.grantedMs = isTimed ? Math.min(serverMs, Math.floor((sample.fence ?? 0) / 1000)) : serverMs;
    this.exact = isTimed || before !== null;
  }

  see(sample: Sample, serverMs: number): void {
    const riseMs = serverMs + sample.ttlMs - (this.#seenMs + this.#ttlMs);
    if (sample.ttlMs >= 0 && this.#ttlMs >= 0 && riseMs > RISE_MS_MIN) this.#renewedMs = serverMs;
    this.#seenMs = serverMs;
    this.#ttlMs = sample.ttlMs;
    this.#leaseMs = Math.max(this.#leaseMs, sample.ttlMs);
    this.#looks += 1;
    this.count = sample.count;
    this.fence = sample.fence;
  }

  get seenMs(): number {
    return this.#seenMs;
  }

  /** When it expires; `null`: never. */
  get expiresMs(): number | null {
    return this.#ttlMs < 0 ? null : this.#seenMs + this.#ttlMs;
  }

  /** `null` until two looks have seen it: the first may have come late in the lease. */
  get leaseMs(): number | null {
    return this.#looks < 2 || this.#leaseMs <= 0 ? null : this.#leaseMs;
  }

  get renewing(): boolean {
    return this.#renewedMs !== null;
  }

  get renewedMs(): number | null {
    return this.#renewedMs;
  }

  get isLate(): boolean {
    return this.renewing && this.#ttlMs >= 0 && this.#ttlMs < this.#leaseMs * LATE_SHARE;
  }

  get isEternal(): boolean {
    return this.#ttlMs === -1;
  }

  /** What its end is judged by, but for what happened to the server. */
  ending(goneMs: number): Omit<Ending, 'disturbance' | 'forced'> {
    return {
      seenMs: this.#seenMs,
      ttlMs: this.#ttlMs,
      goneMs,
      renewing: this.renewing,
      leaseMs: this.#leaseMs,
      claimOnly: this.#fromLine && this.#leaseMs <= CLAIM_MS_MAX,
    };
  }
}
