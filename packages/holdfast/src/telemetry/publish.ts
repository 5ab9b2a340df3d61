/**
 * Publishes on the channels. Subscribers run synchronously, must be quick and must not throw. Without subscribers nothing
 * is built.
 */
import { type Channel, channel, type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import type { LossReason } from '../errors.ts';
import type { Clock } from '../runtime/clock.ts';
import {
  type AbandonedMessage,
  type AcquiredVia,
  CHANNELS,
  type EndedMessage,
  type HandedOverMessage,
  type Kind,
  type LateReleaseMessage,
  type LockTrace,
  type LostMessage,
  type NodeHealthMessage,
  type OnceTrace,
  type RenewTrace,
  type Subject,
  type UsingTrace,
  type WakeReason,
  type WokenMessage,
} from './channels.ts';

const acquires: TracingChannel<object> = tracingChannel(CHANNELS.acquire);
const releases: TracingChannel<object> = tracingChannel(CHANNELS.release);
const renewals: TracingChannel<object> = tracingChannel(CHANNELS.renew);
const usings: TracingChannel<object> = tracingChannel(CHANNELS.using);
const onces: TracingChannel<object> = tracingChannel(CHANNELS.once);
const losses: Channel = channel(CHANNELS.lost);
const ends: Channel = channel(CHANNELS.ended);
const abandonments: Channel = channel(CHANNELS.abandoned);
const lateReleases: Channel = channel(CHANNELS.lateRelease);
const handovers: Channel = channel(CHANNELS.handedOver);
const wakings: Channel = channel(CHANNELS.woken);
const healths: Channel = channel(CHANNELS.nodeHealth);

/** A lease, as messages tell of it. */
export interface ToldLease {
  /** Made when first asked for. */
  readonly id: string;
  readonly fence: number | undefined;
  readonly via: AcquiredVia;
  /** When the caller got the lease; null: nobody listened for ends then. */
  readonly sinceMs: number | null;
}

/** A hold that is renewed, as messages tell of it. */
export interface RenewedHold {
  readonly protocol: Subject;
  readonly statedMs: number;
  remainingMs(clock: Clock): number;
}

/** What every message says of its lock. */
function about({ kind, name }: Subject): { readonly lock: string; readonly kind: Kind } {
  return { lock: name, kind };
}

function isHandover(via: AcquiredVia): via is HandedOverMessage['scope'] {
  return via === 'local' || via === 'line' || via === 'linger';
}

let leases = 0;

/** A name for one lease that no other lease of any process has. */
export function newLeaseId(session: string): string {
  leases += 1;
  return `${session}#${leases}`;
}

export const telemetry = {
  /** Asked first by every acquisition: without subscribers not even a closure is made. */
  get tellsAcquires(): boolean {
    return acquires.hasSubscribers || handovers.hasSubscribers;
  },

  get tellsReleases(): boolean {
    return releases.hasSubscribers || ends.hasSubscribers;
  },

  get tellsEnds(): boolean {
    return ends.hasSubscribers;
  },

  acquire<Result>(
    subject: Subject,
    session: string,
    work: (trace: LockTrace | null) => Promise<Result>,
  ): Promise<Result> {
    if (!acquires.hasSubscribers) return work(null);
    const context: LockTrace = { ...about(subject), session };
    return acquires.tracePromise(() => work(context), context);
  },

  /** An acquisition has brought a lease, which its caller is about to get. */
  granted(trace: LockTrace | null, subject: Subject, { id, fence, via }: ToldLease): void {
    if (trace !== null) {
      trace.lease = id;
      trace.fence = fence;
      trace.via = via;
    }
    if (!isHandover(via) || !handovers.hasSubscribers) return;
    const message: HandedOverMessage = { ...about(subject), scope: via };
    handovers.publish(message);
  },

  release<Result>(
    subject: Subject,
    session: string,
    lease: ToldLease,
    work: () => Promise<Result>,
  ): Promise<Result> {
    if (!releases.hasSubscribers) return work();
    const context: LockTrace = { ...about(subject), session, lease: lease.id, fence: lease.fence };
    return releases.tracePromise(work, context);
  },

  /** What the body of `using` returns belongs to the caller, and is not put into the trace. */
  async using<Result>(
    subject: Subject,
    session: string,
    work: (trace: UsingTrace | null) => Promise<Result>,
  ): Promise<Result> {
    if (!usings.hasSubscribers) return work(null);
    const context: UsingTrace = { ...about(subject), session };
    const results: Result[] = [];
    const keep = async (): Promise<void> => {
      results.push(await work(context));
    };
    await usings.tracePromise(keep, context);
    return results[0] as Result;
  },

  /** What the body of `once` returns belongs to the caller, and is not put into the trace. */
  async once<Result>(
    { name }: Subject,
    session: string,
    work: (trace: OnceTrace | null) => Promise<Result>,
  ): Promise<Result> {
    if (!onces.hasSubscribers) return work(null);
    const context: OnceTrace = { lock: name, kind: 'once', session };
    const results: Result[] = [];
    const keep = async (): Promise<void> => {
      results.push(await work(context));
    };
    await onces.tracePromise(keep, context);
    return results[0] as Result;
  },

  /** One batch; all holds are of one kind. */
  renew<Result>(holds: readonly RenewedHold[], clock: Clock, work: () => Promise<Result>): Promise<Result> {
    const [first] = holds;
    if (first === undefined || !renewals.hasSubscribers) return work();
    const context: RenewTrace = {
      kind: about(first.protocol).kind,
      locks: holds.map(({ protocol }) => protocol.name),
      leaseMs: holds.map(({ statedMs }) => statedMs),
    };
    const timed = async (): Promise<Result> => {
      try {
        return await work();
      } finally {
        context.marginMs = holds.map((hold) => hold.remainingMs(clock));
      }
    };
    return renewals.tracePromise(timed, context);
  },

  lost(subject: Subject, { id, fence }: ToldLease, reason: LossReason): void {
    if (!losses.hasSubscribers) return;
    const message: LostMessage = { ...about(subject), lease: id, fence, reason };
    losses.publish(message);
  },

  /** The lease has ended, by release where there is no reason. Nothing is told of a lease that nobody was given. */
  ended(subject: Subject, { id, fence, sinceMs }: ToldLease, nowMs: number, reason?: LossReason): void {
    if (sinceMs === null || !ends.hasSubscribers) return;
    const isItsReason = reason === 'abandoned' || reason === 'closed';
    const end = reason === undefined ? 'released' : isItsReason ? reason : 'lost';
    const message: EndedMessage = {
      ...about(subject),
      lease: id,
      fence,
      heldMs: nowMs - sinceMs,
      end,
      reason,
    };
    ends.publish(message);
  },

  abandoned(subject: Subject): void {
    if (!abandonments.hasSubscribers) return;
    const message: AbandonedMessage = about(subject);
    abandonments.publish(message);
  },

  lateRelease(subject: Subject, outcome: LateReleaseMessage['outcome']): void {
    if (!lateReleases.hasSubscribers) return;
    const message: LateReleaseMessage = { ...about(subject), outcome };
    lateReleases.publish(message);
  },

  woken(subject: Subject, reason: WakeReason): void {
    if (!wakings.hasSubscribers) return;
    const message: WokenMessage = { ...about(subject), reason };
    wakings.publish(message);
  },

  nodeHealth(server: string, state: NodeHealthMessage['state']): void {
    if (!healths.hasSubscribers) return;
    const message: NodeHealthMessage = { server, state };
    healths.publish(message);
  },
};
