/** How a hold begins and ends with the servers, and whether it has room for one more owner. */
import type { LossReason } from '../errors.ts';
import type { ResolvedAcquireOptions } from '../options/acquire-options.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Protocol } from '../topologies/protocol.ts';
import type { ReleaseResult } from '../topologies/topology.ts';
import { Hold, type HoldKeeper } from './hold.ts';
import type { Renewal } from './renewal.ts';
import type { Grant } from './waiting/attempt.ts';
import type { WaitLoopServices } from './waiting/wait-loop.ts';

/** A hold that was claimed gets its full lease this soon. Most sections are over by then, and cost no renewal. */
const FULL_LEASE_AFTER_MS = 20;

/** A hold is handed over only with at least this share of its lease left. */
const HANDOVER_LEASE_SHARE = 1 / 3;

export interface HoldingServices extends WaitLoopServices {
  readonly renewal: Renewal;
  /** Tells the world who this session is, from its first hold on. */
  readonly record: { begin(): void } | null;
}

/** A hold has been granted, for a caller who wants it renewed or not, with or without more callers behind it. */
export function beginHold(
  { options, renewal, record }: HoldingServices,
  protocol: Protocol,
  { terms, answer, claimMs, linger }: Grant,
  { renews, isCrowded }: { readonly renews: boolean; readonly isCrowded: boolean },
  keeper: HoldKeeper,
): Hold {
  // Each owner needs a fence of the block that came with the grant.
  const handovers = protocol.fencing === undefined ? options.handovers : answer.fences - 1;
  const hold = new Hold({
    protocol,
    holder: terms.holder,
    leaseMs: terms.leaseMs,
    renews,
    claimMs,
    linger,
    deadline: answer.deadline,
    firstFence: answer.firstFence,
    handovers: Math.min(handovers, protocol.policy.handoversMax),
    grantedMs: answer.heardAt.monotonicMs,
    attempt: answer.attempt,
    keeper,
  });
  // Others of this process would need a hand-over, which a claim alone may be too short for.
  const extendInMs = isCrowded ? 0 : FULL_LEASE_AFTER_MS;
  renewal.watch(hold, answer.heardAt, claimMs === undefined ? undefined : extendInMs);
  record?.begin();
  return hold;
}

/** Whether the hold may serve one more owner. */
export function hasRoom(
  { timers, options }: HoldingServices,
  hold: Hold,
  { renew }: ResolvedAcquireOptions,
): boolean {
  const { owners, handoversLeft } = hold;
  if (owners.length >= hold.protocol.policy.ownersMax || handoversLeft === 0) return false;
  // A fixed lease is extended for its caller, which is possible only where nobody else owns the hold.
  if (owners.length > 0 && !(renew && hold.renews)) return false;
  const nowMs = timers.clock.monotonicMs();
  const isInTime = nowMs < hold.lingerUntilMs || nowMs - hold.grantedMs < options.handoverMs;
  return isInTime && hasLease(hold, timers.clock);
}

function hasLease(hold: Hold, clock: Clock): boolean {
  return hold.remainingMs(clock) >= hold.statedMs * HANDOVER_LEASE_SHARE;
}

/** Whether the hold is kept although nobody owns it: the next owner may come from this process. */
export function lingers({ timers }: HoldingServices, hold: Hold): boolean {
  if (hold.lingerUntilMs === 0 || hold.handoversLeft === 0) return false;
  return timers.clock.monotonicMs() < hold.lingerUntilMs && hasLease(hold, timers.clock);
}

/** Gives the hold back. What the servers do not confirm goes on in the background. */
export function releaseHold(
  { topology, options, renewal }: HoldingServices,
  hold: Hold,
): Promise<ReleaseResult> {
  // Sent first: the server works while we keep our books.
  const releasing = topology.release(hold.protocol, hold.releaseTerms, options.callTimeoutMs);
  hold.markReleased();
  renewal.forget(hold);
  return releasing;
}

/** The servers have ended the hold by a call that did more than release it. Only what may still arrive is cleaned up. */
export async function endHold({ topology, renewal }: HoldingServices, hold: Hold): Promise<ReleaseResult> {
  hold.markReleased();
  renewal.forget(hold);
  const { holder, leaseMs } = hold.releaseTerms;
  topology.abandon(hold.protocol, { holder, leaseMs }, true);
  return { is: 'released', receivers: 0 };
}

/** Whoever works under the hold does not end: only the end of the lease lets others in, not a release and not `close`. */
export function leaveToLease({ renewal }: HoldingServices, hold: Hold): void {
  hold.isLeftToLease = true;
  if (hold.isLive) renewal.adopt(hold, hold.leaseMs, false);
}

/** The hold has ended by itself or was taken away. */
export function loseHold(
  { timers, topology, renewal }: HoldingServices,
  hold: Hold,
  reason: LossReason,
): void {
  hold.markLost(reason, timers.clock.monotonicMs());
  renewal.forget(hold);
  // The owners hear of it before anything is sent that could let somebody else in.
  hold.tellLoss(reason);
  // An owner that cannot be stopped may be at work until the very end of the lease.
  if (hold.isLeftToLease) return;
  // Unless the servers have said so, the hold may still stand there: a renewal without an answer may have kept it.
  topology.abandon(hold.protocol, hold.releaseTerms, reason === 'gone' || reason === 'revoked');
}
