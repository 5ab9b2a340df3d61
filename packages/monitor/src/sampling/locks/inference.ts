/**
 * How a hold ended, between the last look that saw it and the first that did not. Pure: all times are given. The table is in
 * docs/operate/monitoring.md; when in doubt the answer is `unknown`, because `expired` accuses a process.
 */
import type { End, Surety } from '../../api/types.ts';

/** What happened to the server between the two looks, by INFO; `null`: nothing that takes keys away. */
export type Disturbance = 'restarted' | 'failed over' | 'flushed' | 'evicted';

export interface Ending {
  /** The look that last saw it, by the server's clock, and the time that was left. -1: no expiry. */
  readonly seenMs: number;
  readonly ttlMs: number;
  /** When the first look saw that the hold was gone. */
  readonly goneMs: number;
  /** Whether the time left was seen to rise: the holder renews. */
  readonly renewing: boolean;
  /** The longest time left that was seen. */
  readonly leaseMs: number;
  /** The hold was granted from the line, and never seen with more time left than a claim has. */
  readonly claimOnly: boolean;
  readonly disturbance: Disturbance | null;
  /** Whether the audit trail has a release by force of this hold. */
  readonly forced: boolean;
}

export interface Verdict {
  readonly end: End;
  readonly sure: Surety;
  readonly cause: Disturbance | null;
}

/** Between two looks of the fast lane on a machine that is not at rest. */
const FAST_GAP_MS = 1_000;

/** A holder that is late and silent for this share of its lease more has not renewed and released in between. */
const FAST_GAP_SHARE = 1 / 6;

/** A renewing hold with less than this left is late: its renewal has been due for as long again. */
export const LATE_SHARE: number = 1 / 3;

/**
 * How surely the end of a time is known: TIME and PTTL of one script are read one after the other, and the server may stand still in
 * between. What goes so shortly before its time is over may have run out.
 */
const EXPIRY_ERROR_MS = 50;

/**
 * An owner of holdfast that runs out of time by its own clock, 1 % of the lease before the server's, lets go of the lock then. So a
 * lock that goes this share of its lease before its time was not given back by a program that had finished.
 */
const OWN_END_SHARE = 1 / 80;

export function judge(ending: Ending): Verdict {
  const { seenMs, ttlMs, goneMs, renewing, leaseMs, disturbance } = ending;
  if (ending.forced) return { end: 'forced', sure: 'yes', cause: null };
  const leftMs = ttlMs < 0 ? Number.POSITIVE_INFINITY : seenMs + ttlMs - goneMs;
  const isBeforeExpiry = leftMs > EXPIRY_ERROR_MS + leaseMs * OWN_END_SHARE;
  if (isBeforeExpiry) {
    if (disturbance !== null) return { end: 'vanished', sure: 'likely', cause: disturbance };
    return { end: 'released', sure: 'yes', cause: null };
  }
  // The time of the hold may have run out, or it was released shortly before, or the server lost it: only a close look tells which.
  if (disturbance === 'restarted' || disturbance === 'failed over') {
    return { end: 'unknown', sure: 'likely', cause: disturbance };
  }
  if (ending.claimOnly && !renewing) return { end: 'unconfirmed', sure: 'likely', cause: null };
  if (!renewing) return { end: 'ran-out', sure: 'likely', cause: null };
  const gapMs = goneMs - seenMs;
  const isLate = ttlMs < leaseMs * LATE_SHARE;
  const isClose = gapMs <= Math.max(FAST_GAP_MS, leaseMs * FAST_GAP_SHARE);
  if (isLate && isClose && leftMs <= EXPIRY_ERROR_MS) return { end: 'expired', sure: 'yes', cause: null };
  return { end: 'unknown', sure: 'likely', cause: null };
}
