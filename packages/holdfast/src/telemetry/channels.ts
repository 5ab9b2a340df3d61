/**
 * What holdfast tells on `node:diagnostics_channel`. Subscribers run synchronously, must be quick and must not
 * throw. Payloads carry lock names, never owners' tokens. Without subscribers nothing is built.
 */
import { type Channel, channel, type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import type { LossReason } from '../errors.ts';
import type { WakeReason } from '../locking/wakeup.ts';

/** The kinds of lock that users have. */
export type Kind = 'lock' | 'mutex';

/** What is told of a lock. */
interface NamedLock {
  readonly kind: string;
  readonly name: string;
}

/** The names of the channels. The first four are tracing channels: `tracing:<name>:start` and so on. */
export const CHANNELS = {
  acquire: 'holdfast:acquire',
  release: 'holdfast:release',
  renew: 'holdfast:renew',
  using: 'holdfast:using',
  lost: 'holdfast:lease:lost',
  abandoned: 'holdfast:lease:abandoned',
  lateRelease: 'holdfast:lease:late-release',
  woken: 'holdfast:waiter:woken',
} as const;

/** The context object of `holdfast:acquire`, `holdfast:release` and `holdfast:using`; the same object throughout. */
export interface LockTrace {
  readonly lock: string;
  readonly kind: Kind;
  readonly session: string;
  /** Set once granted, where the kind has one. */
  fence?: number | undefined;
  /** The result, once there is one: `null` for a `tryAcquire` of a held lock. */
  result?: unknown;
  error?: unknown;
}

/** The context object of `holdfast:renew`: one batch. */
export interface RenewTrace {
  readonly kind: Kind;
  readonly locks: readonly string[];
  result?: unknown;
  error?: unknown;
}

export interface LostMessage {
  readonly lock: string;
  readonly kind: Kind;
  readonly fence: number | undefined;
  readonly reason: LossReason;
}

export interface AbandonedMessage {
  readonly lock: string;
  readonly kind: Kind;
}

export interface LateReleaseMessage {
  readonly lock: string;
  readonly kind: Kind;
  /** `released`: it was there. `gone`: it was not. `expired`: its lease ended first. `dropped`: too many open. */
  readonly outcome: 'released' | 'gone' | 'expired' | 'dropped';
}

export interface WokenMessage {
  readonly lock: string;
  readonly kind: Kind;
  readonly reason: WakeReason;
}

const acquires: TracingChannel<object> = tracingChannel(CHANNELS.acquire);
const releases: TracingChannel<object> = tracingChannel(CHANNELS.release);
const renewals: TracingChannel<object> = tracingChannel(CHANNELS.renew);
const usings: TracingChannel<object> = tracingChannel(CHANNELS.using);
const losses: Channel = channel(CHANNELS.lost);
const abandonments: Channel = channel(CHANNELS.abandoned);
const lateReleases: Channel = channel(CHANNELS.lateRelease);
const wakings: Channel = channel(CHANNELS.woken);

function trace<Result>(
  traced: TracingChannel<object>,
  work: (trace: LockTrace | null) => Promise<Result>,
  protocol: NamedLock,
  session: string,
): Promise<Result> {
  if (!traced.hasSubscribers) return work(null);
  const context: LockTrace = { lock: protocol.name, kind: kindOf(protocol), session };
  return traced.tracePromise(() => work(context), context);
}

/** Below the facade a kind is any string; users have these. */
function kindOf({ kind }: NamedLock): Kind {
  return kind as Kind;
}

export const telemetry = {
  /** Asked first on the hot path, where even a closure counts. */
  get tracesAcquires(): boolean {
    return acquires.hasSubscribers;
  },

  get tracesReleases(): boolean {
    return releases.hasSubscribers;
  },

  acquire<Result>(
    protocol: NamedLock,
    session: string,
    work: (trace: LockTrace | null) => Promise<Result>,
  ): Promise<Result> {
    return trace(acquires, work, protocol, session);
  },

  release<Result>(protocol: NamedLock, session: string, work: () => Promise<Result>): Promise<Result> {
    return trace(releases, work, protocol, session);
  },

  /** What the body returns is the caller's own: it is not put into the trace. */
  async using<Result>(protocol: NamedLock, session: string, work: () => Promise<Result>): Promise<Result> {
    if (!usings.hasSubscribers) return work();
    const results: Result[] = [];
    const keep = async (): Promise<void> => {
      results.push(await work());
    };
    await trace(usings, keep, protocol, session);
    return results[0] as Result;
  },

  renew<Result>(
    items: readonly { readonly protocol: NamedLock }[],
    work: () => Promise<Result>,
  ): Promise<Result> {
    const first = items[0];
    if (first === undefined || !renewals.hasSubscribers) return work();
    const context: RenewTrace = {
      kind: kindOf(first.protocol),
      locks: items.map(({ protocol }) => protocol.name),
    };
    return renewals.tracePromise(work, context);
  },

  lost({ protocol }: { readonly protocol: NamedLock }, fence: number | undefined, reason: LossReason): void {
    if (!losses.hasSubscribers) return;
    const message: LostMessage = { lock: protocol.name, kind: kindOf(protocol), fence, reason };
    losses.publish(message);
  },

  abandoned({ protocol }: { readonly protocol: NamedLock }): void {
    if (!abandonments.hasSubscribers) return;
    const message: AbandonedMessage = { lock: protocol.name, kind: kindOf(protocol) };
    abandonments.publish(message);
  },

  lateRelease(protocol: NamedLock, outcome: LateReleaseMessage['outcome']): void {
    if (!lateReleases.hasSubscribers) return;
    const message: LateReleaseMessage = { lock: protocol.name, kind: kindOf(protocol), outcome };
    lateReleases.publish(message);
  },

  woken(protocol: NamedLock, reason: WakeReason): void {
    if (!wakings.hasSubscribers) return;
    const message: WokenMessage = { lock: protocol.name, kind: kindOf(protocol), reason };
    wakings.publish(message);
  },
};
