/**
 * Moments on both of the machine's clocks. The monotonic clock may stand still while the machine sleeps and the
 * wall clock may be set back, so a deadline has passed as soon as either of them says so.
 */
import type { Clock } from './clock.ts';

export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Two clocks that agree to 1 % over a lease, and 2 ms for what the server and our timers round away. */
const DRIFT_SHARE = 0.01;
const DRIFT_MS = 2;

/** How much earlier than the server we stop believing in a lease of this length. */
export function driftMs(leaseMs: number): number {
  return leaseMs * DRIFT_SHARE + DRIFT_MS;
}

export function instantNow(clock: Clock): Instant {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

/**
 * When a lease ends for us that was asked for at `sentAt`, before the request was written. In whole milliseconds of the
 * monotonic clock, the earlier one: a fraction is an object of its own for each of thousands of leases.
 */
export function leaseDeadline(sentAt: Instant, leaseMs: number): Instant {
  const validMs = leaseMs - driftMs(leaseMs);
  return { monotonicMs: Math.floor(sentAt.monotonicMs + validMs), wallMs: sentAt.wallMs + validMs };
}

/** How long from a moment until the deadline; zero or less when it has passed. */
export function remainingAt(deadline: Instant, now: Instant): number {
  return Math.min(deadline.monotonicMs - now.monotonicMs, deadline.wallMs - now.wallMs);
}
