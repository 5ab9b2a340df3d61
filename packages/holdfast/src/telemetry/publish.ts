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

/**
 * All fields are there from the start, and no object is spread into another: V8 makes a slow object of one that grows field
 * by field, which costs more than all the rest of a message.
 */
function lockTrace({ name, kind }: Subject, session: string, lease: ToldLease | null): UsingTrace {
  return {
    lock: name,
    kind,
    session,
    lease: lease?.id,
    fence: lease?.fence,
    via: undefined,
    waitedMs: undefined,
    enclose: undefined,
    result: undefined,
    error: undefined,
  };
}

function isHandover(via: AcquiredVia): via is HandedOverMessage['scope'] {
  return via === 'local' || via === 'line' || via === 'linger';
}

/** An acquisition has brought a lease, which its caller is about to get. */
function tellGrant(trace: LockTrace, { kind, name }: Subject, lease: ToldLease): void {
  const { via } = lease;
  trace.lease = lease.id;
  trace.fence = lease.fence;
  trace.via = via;
  if (!isHandover(via) || !handovers.hasSubscribers) return;
  const message: HandedOverMessage = { lock: name, kind, scope: via };
  handovers.publish(message);
}

/** Who wants what, and since when. */
interface Acquisition {
  readonly subject: Subject;
  readonly session: string;
  readonly clock: Clock;
  readonly startedMs: number;
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

  /**
   * As `tracePromise` does, with one promise less: this is on the way of every caller. `granted` tells which lease the
   * result is, and `clock` and `startedMs` how long it took.
   */
  acquire<Result>(
    { subject, session, clock, startedMs }: Acquisition,
    work: () => Promise<Result>,
    granted: (result: Result) => ToldLease | undefined,
  ): Promise<Result> {
    const { start, end, asyncStart, asyncEnd, error: failed } = acquires;
    const context: LockTrace = lockTrace(subject, session, null);
    let acquiring: Promise<Result>;
    try {
      acquiring = start.runStores(context, work);
    } catch (error) {
      acquiring = Promise.reject(error);
    }
    end.publish(context);
    const settle = (): void => {
      context.waitedMs = clock.monotonicMs() - startedMs;
      asyncStart.publish(context);
      asyncEnd.publish(context);
    };
    const resolve = (result: Result): Result => {
      const lease = granted(result);
      if (lease !== undefined) tellGrant(context, subject, lease);
      context.result = result;
      settle();
      return result;
    };
    const reject = (error: unknown): Promise<never> => {
      context.error = error;
      failed.publish(context);
      settle();
      return Promise.reject(error);
    };
    return acquiring.then(resolve, reject);
  },

  release<Result>(
    subject: Subject,
    session: string,
    lease: ToldLease,
    work: () => Promise<Result>,
  ): Promise<Result> {
    if (!releases.hasSubscribers) return work();
    const context: LockTrace = lockTrace(subject, session, lease);
    return releases.tracePromise(work, context);
  },

  /** What the body of `using` returns belongs to the caller, and is not put into the trace. */
  async using<Result>(
    subject: Subject,
    session: string,
    work: (trace: UsingTrace | null) => Promise<Result>,
  ): Promise<Result> {
    if (!usings.hasSubscribers) return work(null);
    const context = lockTrace(subject, session, null);
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

  /** Encloses the renewal of one batch. All holds of a batch are of one kind. */
  renew<Result>(holds: readonly RenewedHold[], clock: Clock, work: () => Promise<Result>): Promise<Result> {
    const [first] = holds;
    if (first === undefined || !renewals.hasSubscribers) return work();
    const context: RenewTrace = {
      kind: first.protocol.kind,
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

  lost({ kind, name }: Subject, { id, fence }: ToldLease, reason: LossReason): void {
    if (!losses.hasSubscribers) return;
    const message: LostMessage = { lock: name, kind, lease: id, fence, reason };
    losses.publish(message);
  },

  /** The lease has ended, by release where there is no reason. Nothing is told of a lease that nobody was given. */
  ended({ kind, name }: Subject, lease: ToldLease, nowMs: number, reason?: LossReason): void {
    const { sinceMs } = lease;
    if (sinceMs === null || !ends.hasSubscribers) return;
    const isItsReason = reason === 'abandoned' || reason === 'closed';
    const end = reason === undefined ? 'released' : isItsReason ? reason : 'lost';
    const message: EndedMessage = {
      lock: name,
      kind,
      lease: lease.id,
      fence: lease.fence,
      heldMs: nowMs - sinceMs,
      end,
      reason,
    };
    ends.publish(message);
  },

  abandoned({ kind, name }: Subject): void {
    if (!abandonments.hasSubscribers) return;
    const message: AbandonedMessage = { lock: name, kind };
    abandonments.publish(message);
  },

  lateRelease({ kind, name }: Subject, outcome: LateReleaseMessage['outcome']): void {
    if (!lateReleases.hasSubscribers) return;
    const message: LateReleaseMessage = { lock: name, kind, outcome };
    lateReleases.publish(message);
  },

  woken({ kind, name }: Subject, reason: WakeReason): void {
    if (!wakings.hasSubscribers) return;
    const message: WokenMessage = { lock: name, kind, reason };
    wakings.publish(message);
  },

  nodeHealth(server: string, state: NodeHealthMessage['state']): void {
    if (!healths.hasSubscribers) return;
    const message: NodeHealthMessage = { server, state };
    healths.publish(message);
  },
};
