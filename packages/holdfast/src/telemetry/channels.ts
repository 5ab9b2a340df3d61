/**
 * What holdfast tells on `node:diagnostics_channel`. Subscribers run synchronously, must be quick and must not
 * throw. Payloads carry lock names, never owners' tokens. Without subscribers nothing is built.
 */
import { type Channel, channel, type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import type { LossReason } from '../errors.ts';

/** The kinds of lock that messages tell of. */
export type Kind = 'lock' | 'mutex' | 'leader' | 'job';

/** - `message`: somebody released. - `resync`: messages may have been missed. - `time`: nothing came. */
export type WakeReason = 'message' | 'resync' | 'time';

/** Which lock a message is about. */
export interface Subject {
  readonly kind: string;
  readonly name: string;
}

/** The names of the channels. The first four, and `job`, are tracing channels: `tracing:<name>:start` and so on. */
export const CHANNELS = {
  acquire: 'holdfast:acquire',
  release: 'holdfast:release',
  renew: 'holdfast:renew',
  using: 'holdfast:using',
  lost: 'holdfast:lease:lost',
  abandoned: 'holdfast:lease:abandoned',
  lateRelease: 'holdfast:lease:late-release',
  woken: 'holdfast:waiter:woken',
  leader: 'holdfast:leader',
  job: 'holdfast:job',
  jobSkipped: 'holdfast:job:skipped',
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

/** What every message says of its lock. */
function about({ kind, name }: Subject): { readonly lock: string; readonly kind: Kind } {
  // The facade makes no other kinds; `Subject` has them open for protocols that only tests know.
  return { lock: name, kind: kind as Kind };
}

function trace<Result>(
  traced: TracingChannel<object>,
  work: (trace: LockTrace | null) => Promise<Result>,
  subject: Subject,
  session: string,
): Promise<Result> {
  if (!traced.hasSubscribers) return work(null);
  const context: LockTrace = { ...about(subject), session };
  return traced.tracePromise(() => work(context), context);
}

export const telemetry = {
  /** Asked first by every acquisition: without subscribers not even a closure is made. */
  get tracesAcquires(): boolean {
    return acquires.hasSubscribers;
  },

  get tracesReleases(): boolean {
    return releases.hasSubscribers;
  },

  acquire<Result>(
    subject: Subject,
    session: string,
    work: (trace: LockTrace | null) => Promise<Result>,
  ): Promise<Result> {
    return trace(acquires, work, subject, session);
  },

  release<Result>(subject: Subject, session: string, work: () => Promise<Result>): Promise<Result> {
    return trace(releases, work, subject, session);
  },

  /** What the body of `using` returns belongs to the caller, and is not put into the trace. */
  async using<Result>(subject: Subject, session: string, work: () => Promise<Result>): Promise<Result> {
    if (!usings.hasSubscribers) return work();
    const results: Result[] = [];
    const keep = async (): Promise<void> => {
      results.push(await work());
    };
    await trace(usings, keep, subject, session);
    return results[0] as Result;
  },

  /** One batch; all subjects are of one kind. */
  renew<Result>(subjects: readonly Subject[], work: () => Promise<Result>): Promise<Result> {
    const [first] = subjects;
    if (first === undefined || !renewals.hasSubscribers) return work();
    const { kind } = about(first);
    const context: RenewTrace = { kind, locks: subjects.map(({ name }) => name) };
    return renewals.tracePromise(work, context);
  },

  lost(subject: Subject, fence: number | undefined, reason: LossReason): void {
    if (!losses.hasSubscribers) return;
    const message: LostMessage = { ...about(subject), fence, reason };
    losses.publish(message);
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
};
