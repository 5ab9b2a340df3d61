/**
 * What holdfast tells on `node:diagnostics_channel`: the names of the channels and what their messages contain. Payloads
 * carry lock names, never owners' tokens.
 *
 * In this folder: the channels and their messages, how they are published, and warnings of the process. Messages are
 * plain values: this layer knows no lock and no server. All layers above import from here.
 */
import type { LossReason } from '../errors.ts';

/** The kind of lock that a message tells of. Open, because more kinds come. */
export type Kind = 'lock' | 'mutex' | 'once' | 'leader' | 'job' | (string & Record<never, never>);

/** - `message`: somebody released. - `resync`: messages may have been missed. - `time`: nothing came. */
export type WakeReason = 'message' | 'resync' | 'time';

/**
 * How an acquisition got its lock.
 *
 * - `free`: an attempt found the lock free, and the caller had not slept.
 * - `reentry`: the call chain held the lock already.
 * - `local`: another caller of this process handed its hold over.
 * - `linger`: this process had kept a hold that nobody used.
 * - `line`: the owner before, in another process, handed the lock over in the line of waiters.
 * - `message`: a message about a release ended the sleep, and the next attempt got the lock.
 * - `timer`: the caller asked again without a message, and got the lock.
 */
export type AcquiredVia = 'free' | 'reentry' | 'local' | 'linger' | 'line' | 'message' | 'timer';

/** - `released`: by its owner. - `lost`: expired, gone or revoked. - `abandoned`, `closed`: lost for that reason. */
export type LeaseEnd = 'released' | 'lost' | 'abandoned' | 'closed';

/** Which lock a message is about. */
export interface Subject {
  readonly kind: string;
  readonly name: string;
}

/** The names of the channels. The first five, and `job`, are tracing channels: `tracing:<name>:start` and so on. */
export const CHANNELS = {
  acquire: 'holdfast:acquire',
  release: 'holdfast:release',
  renew: 'holdfast:renew',
  using: 'holdfast:using',
  once: 'holdfast:once',
  lost: 'holdfast:lease:lost',
  ended: 'holdfast:lease:ended',
  abandoned: 'holdfast:lease:abandoned',
  lateRelease: 'holdfast:lease:late-release',
  handedOver: 'holdfast:hold:handed-over',
  woken: 'holdfast:waiter:woken',
  nodeHealth: 'holdfast:node:health',
  leader: 'holdfast:leader',
  job: 'holdfast:job',
  jobSkipped: 'holdfast:job:skipped',
} as const;

/** The context object of `holdfast:acquire` and `holdfast:release`; the same object throughout. */
export interface LockTrace {
  readonly lock: string;
  readonly kind: Kind;
  readonly session: string;
  /** Which lease, once granted: the same text in every message about that lease. Unique among all processes. */
  lease?: string | undefined;
  /** Set once granted, where the kind has one. */
  fence?: number | undefined;
  /** How an acquisition got the lock, once granted. */
  via?: AcquiredVia | undefined;
  /** How long an acquisition took, once it has ended, in whichever way. */
  waitedMs?: number | undefined;
  /** The result, once there is one: `null` for a `tryAcquire` of a held lock. */
  result?: unknown;
  error?: unknown;
}

/** The context object of `holdfast:once`: one call of `once`; the same object throughout. */
export interface OnceTrace {
  /** The key, as the caller gave it. */
  readonly lock: string;
  readonly kind: 'once';
  readonly session: string;
  /** Whether the body ran for this call, or its stored outcome was returned. Set once it is known. */
  ran?: boolean;
  /** Which attempt the outcome is of. */
  attempt?: number;
  /** Set when the body ran. */
  fence?: number | undefined;
  error?: unknown;
}

/** The context object of `holdfast:using`. What the body returns is the caller's, and never in here. */
export interface UsingTrace extends LockTrace {
  /**
   * A subscriber of `start` may set this: the body of `using` is then run through it, so that the subscriber can put it
   * into an async context. Call `run` once, at once. `lease` is known by then. Whoever finds a function here calls
   * it inside its own.
   */
  enclose?: ((run: () => unknown) => unknown) | undefined;
}

/** The context object of `holdfast:renew`: one batch. The arrays have an element for each lock, in the same order. */
export interface RenewTrace {
  readonly kind: Kind;
  readonly locks: readonly string[];
  /** How long each lock was granted or renewed for before. */
  readonly leaseMs: readonly number[];
  /** How much of that was left when the answer came; zero or less: nothing. */
  marginMs?: readonly number[];
  result?: unknown;
  error?: unknown;
}

export interface LostMessage {
  readonly lock: string;
  readonly kind: Kind;
  readonly lease: string;
  readonly fence: number | undefined;
  readonly reason: LossReason;
}

export interface EndedMessage {
  readonly lock: string;
  readonly kind: Kind;
  readonly lease: string;
  readonly fence: number | undefined;
  /** From the grant to the call of `release`, or to the loss. */
  readonly heldMs: number;
  readonly end: LeaseEnd;
  /** Why the lease was lost; undefined for `released`. */
  readonly reason: LossReason | undefined;
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

export interface HandedOverMessage {
  readonly lock: string;
  readonly kind: Kind;
  /** From a caller of this process, from a hold that was kept unused, or from an owner elsewhere by the line. */
  readonly scope: 'local' | 'linger' | 'line';
}

export interface WokenMessage {
  readonly lock: string;
  readonly kind: Kind;
  readonly reason: WakeReason;
}

/** A server of a quorum, as this process sees it. Published when the state changes. */
export interface NodeHealthMessage {
  readonly server: string;
  /** - `up`: votes. - `down`: does not answer, and is skipped. - `guarded`: has restarted too recently to vote. */
  readonly state: 'up' | 'down' | 'guarded';
}
