/** One lock, as the monitor tells of it. */

/** What stands under a name. `free`: nobody holds it, and somebody waits in its line. */
export type RowKind = 'lock' | 'mutex' | 'free';

/** One lock, as it was last seen. `null` is "not known" in every field. */
export interface Row {
  readonly name: string;
  readonly kind: RowKind;
  /** `<session>:<number>`, of a mutex the digest of its value, '' of a free name. Send it back to take the lock away. */
  readonly holder: string;
  /** Who the holder is, by the record of its session. `null` where there is none. */
  readonly app: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  /** Since when this holder has it. `null` for a free name. */
  readonly grantedAt: number | null;
  /** Whether `grantedAt` is the grant itself, to a look; otherwise the monitor first saw the hold then, "at least". */
  readonly exact: boolean;
  /** When the lease ends unless it is renewed. `null`: the key has no expiry, or the name is free. */
  readonly expiresAt: number | null;
  /** The whole lease: the longest time left that was seen of this hold. `null` until two looks saw it. */
  readonly leaseMs: number | null;
  /** Whether the time left was seen to rise: the holder renews. */
  readonly renewing: boolean;
  /** When it was last seen to rise. */
  readonly renewedAt: number | null;
  /** A renewing hold with less than a third of its lease left. */
  readonly late: boolean;
  /** Held without an expiry: blocks for ever. */
  readonly eternal: boolean;
  /** The record of its session was there and is gone, and the time left does not rise: its process died. */
  readonly ownerGone: boolean;
  /** How often the holder has entered it. */
  readonly count: number;
  /** The last fence given out. `null` for a mutex. */
  readonly fence: number | null;
  /** Processes in the line. */
  readonly waiting: number;
  /** When the first in line joined. */
  readonly firstWaitAt: number | null;
  /** In a quorum how many servers name this holder, and how many there are; otherwise `null`. */
  readonly votes: Votes | null;
  /** The server that has the name (`ServerCard.id`); `null` in a quorum. */
  readonly server: string | null;
  readonly seenAt: number;
}

export interface Votes {
  readonly has: number;
  readonly of: number;
}
