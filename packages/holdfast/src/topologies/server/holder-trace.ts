/** What may be left of one holder on a server: the facts that `Holders` keeps, and their arithmetic. */
import { driftMs } from '../../runtime/instant.ts';
import type { Protocol } from '../protocol.ts';
import type { ReleaseTerms } from '../topology.ts';

/** Acquires of one holder that ended without an answer. */
export interface Trace {
  readonly unanswered: number;
  /** Until when one of them may still arrive, by our monotonic clock; after that the server refuses it. */
  readonly untilMs: number;
  /** The longest lease that one of them asked for. */
  readonly leaseMs: number;
  /** Whether the holder was granted after them, or may be by its ticket. */
  readonly isGranted: boolean;
}

export const NO_TRACE: Trace = { unanswered: 0, untilMs: 0, leaseMs: 0, isGranted: false };

/** The trace with one more unanswered acquire, which may arrive for `lastsMs` from now. */
export function withUnanswered(known: Trace, leaseMs: number, nowMs: number, lastsMs: number): Trace {
  return {
    unanswered: known.unanswered + 1,
    untilMs: Math.max(known.untilMs, nowMs + lastsMs),
    leaseMs: Math.max(known.leaseMs, leaseMs),
    isGranted: known.isGranted,
  };
}

/** How many acquires a release may find: those without an answer, and the grant that came after them. */
export function leftOf({ unanswered, isGranted }: Trace): number {
  return unanswered + (isGranted ? 1 : 0);
}

/** Whether an unanswered acquire may still reach the server. */
export function mayArrive({ unanswered, untilMs }: Trace, nowMs: number): boolean {
  return unanswered > 0 && nowMs < untilMs;
}

/** A release that is repeated until it is proved. */
export interface LateRelease {
  readonly protocol: Protocol;
  readonly terms: ReleaseTerms;
  /** Until when an unanswered acquire of this holder may still arrive. */
  readonly arrivesUntilMs: number;
  /** When the lease has certainly ended on the server, by our monotonic clock: then the release is not repeated. */
  readonly expiresMs: number;
  /** How many acquires may be there or arrive yet, and have not been seen released. */
  left: number;
  /** The best answer so far. */
  outcome: 'released' | 'gone';
}

/**
 * A late release of a holder, merged with an earlier one of the same holder that is still open: it counts the acquires
 * of both, and is quiet only if both are. `startsByMs` is when the lease of the last acquire has started at the latest:
 * the server refuses an acquire whose call has timed out.
 */
export function lateRelease(
  protocol: Protocol,
  { holder, leaseMs, isQuiet, wasServed }: ReleaseTerms,
  trace: Trace,
  left: number,
  startsByMs: number,
  earlier: LateRelease | undefined,
): LateRelease {
  const longestMs = Math.max(leaseMs, trace.leaseMs, earlier?.terms.leaseMs ?? 0);
  return {
    protocol,
    terms: {
      holder,
      leaseMs: longestMs,
      isQuiet: isQuiet === true && earlier?.terms.isQuiet !== false,
      wasServed: wasServed === true || earlier?.terms.wasServed === true,
    },
    arrivesUntilMs: Math.max(trace.untilMs, earlier?.arrivesUntilMs ?? 0),
    expiresMs: startsByMs + longestMs + driftMs(longestMs),
    left: left + (earlier?.left ?? 0),
    outcome: earlier?.outcome ?? 'gone',
  };
}
