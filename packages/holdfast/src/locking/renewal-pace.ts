/** How soon a hold is renewed, how soon a failed renewal is repeated, and how long one may take. */

/** Two renewals may fail before a lease is in danger. */
const RENEWALS_PER_LEASE = 3;

/** To fill a batch, a hold may be renewed this share of its interval before its time. */
const EARLY_SHARE = 0.25;

/** The next renewal of a batch comes up to this share of the interval sooner. */
const JITTER_SHARE = 0.1;

/** After a failed renewal the next waits this share of the lease, or of what is left of it, within bounds. */
const RETRY_SHARE = 1 / 30;
const RETRY_SHARE_LEFT = 1 / 3;
const RETRY_MS_MIN = 5;
const RETRY_MS_MAX = 1_000;

/** A renewal may take half of what is left, so that another one fits; below this no network answers. */
const TIMEOUT_MS_MIN = 5;

/** From one renewal to the next. `jitter` is from 0 to 1, one number for a batch. */
export function renewalIntervalMs(leaseMs: number, jitter = 0): number {
  return (leaseMs / RENEWALS_PER_LEASE) * (1 - JITTER_SHARE * jitter);
}

/** How much before its time a hold may travel with a batch. */
export function earlyMs(leaseMs: number): number {
  return renewalIntervalMs(leaseMs) * EARLY_SHARE;
}

/** From a failed renewal to the next, whatever the reason: an error reply, an outage, no answer. */
export function retryMs(leaseMs: number, leftMs: number): number {
  const shareMs = Math.min(leaseMs * RETRY_SHARE, leftMs * RETRY_SHARE_LEFT);
  return Math.min(Math.max(shareMs, RETRY_MS_MIN), RETRY_MS_MAX);
}

/** How long a renewal may take that has `leftMs` until the first of its deadlines. */
export function renewalTimeoutMs(leftMs: number, callTimeoutMs: number): number {
  return Math.min(Math.max(leftMs / 2, TIMEOUT_MS_MIN), callTimeoutMs);
}
