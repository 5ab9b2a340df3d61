/** What callers may choose, checked once at the border; behind it the types are trusted. */
import { LockConfigError } from '../errors.ts';
import { checkName } from '../keys/name.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { describe } from '../runtime/describe.ts';
import { type Random, systemRandom } from '../runtime/random.ts';
import { checkKnown, checkObject, integerWithin, ofType, oneOf } from './checks.ts';
import { type ReplicaOptions, type ResolvedReplicas, resolveReplicas } from './replicas.ts';

/**
 * Redisson's default, so that mixed fleets behave alike. A crashed owner blocks the others for at most this long;
 * a shorter lease needs more renewals and forgives fewer pauses.
 */
export const LEASE_MS_DEFAULT = 30_000;

/**
 * We may claim a lease for its length less the drift, rounded down to a whole millisecond of our clock. Of 4 ms some
 * time is always left, of 3 ms only when the clock stands right, of 1 or 2 ms never.
 */
export const LEASE_MS_MIN = 4;

/** A year. A lock that outlives a year is a lock that never frees. Timers step, so length alone is no problem. */
export const LEASE_MS_MAX: number = 366 * 24 * 60 * 60 * 1000;

/**
 * How long one call to Redis may take. Long enough for a slow moment of a busy server, short enough to leave a
 * default lease several renewals before its end.
 */
export const CALL_TIMEOUT_MS_DEFAULT = 2_000;

/** With more than 64 prototypes gained nothing, and with 64 another process waits for 65 short sections at most. */
export const HANDOVERS_DEFAULT = 64;

/** A `mutex` may be handed over this often, a `lock` as often as the server has granted fences: 1,000 at most. */
export const HANDOVERS_MAX = 10_000;

/** A server needs about half a millisecond for 128 calls. With more, other callers feel that it is busy. */
const BUNDLE_MAX_DEFAULT = 128;

/** Long sections are handed over once or twice within this time, short ones up to `handovers` times. */
export const HANDOVER_MS_DEFAULT = 50;

/**
 * An hour, counted from the end of the lease or from the time of the last fence. Until then fences grow whatever the
 * server's clock does; after that the clock may still be set back by up to an hour. Longer would cost memory: each name
 * that is used once leaves about 150 bytes for this long, 55 MB for 100 names a second.
 */
export const FENCE_TTL_MS_DEFAULT: number = 60 * 60 * 1000;

/** A failover or a restart takes a few seconds, which waiters sit out. Of a longer outage the caller is told. */
export const OUTAGE_MS_DEFAULT = 10_000;

/**
 * Random delays settle a split vote in two or three attempts. A hundred split votes in a row are not chance: a clock, a
 * network or a foreign client keeps them split, and the caller should know.
 */
const SPLIT_VOTES_MAX_DEFAULT = 100;

export interface LocksOptions {
  /** Put before every name to make its key. @default '' */
  readonly prefix?: string;
  /** Default lease. @default 30_000 */
  readonly leaseMs?: number;
  /** How long one call to Redis may take before its outcome counts as unknown. @default 2_000 */
  readonly callTimeoutMs?: number;
  /**
   * How often one global hold may pass between callers of this process without touching Redis.
   * 0 acquires and releases in Redis every time. @default 64
   */
  readonly handovers?: number;
  /** No hand-over once a hold is this old, so that other processes get their turn. @default 50 */
  readonly handoverMs?: number;
  /**
   * How long a fence counter outlives the lease and its last fence; 0 keeps it for ever (needed beside Java's
   * RFencedLock). @default one hour
   */
  readonly fenceTtlMs?: number;
  /**
   * How many acquires or releases that are made at the same moment may travel as one script call. 1 sends each by
   * itself. @default 128
   */
  readonly bundleMax?: number;
  /** How long `acquire` sits out a server that cannot be reached, once it has been reached. @default 10_000 */
  readonly outageMs?: number;
  /**
   * The name of this program. With a name, a record of application, host and process stands in Redis while the session
   * lives, for `holdfast ls` and other tools. Without a name there is no record, and not one command more.
   */
  readonly application?: string;
  /**
   * Of several servers: how long one may take to answer before the others decide without it. By default a
   * two-hundredth of the lease, within 5 to 50 ms, and longer for one that has been slow lately.
   */
  readonly nodeTimeoutMs?: number;
  /**
   * Of several servers: how long one must have run before it votes, because a server that has restarted may have
   * forgotten a lease. 0 lets it vote at once, which is safe only if it forgets nothing. @default the longest lease used
   */
  readonly restartGuardMs?: number;
  /** Of several servers: after how many split votes in a row an acquisition gives up. @default 100 */
  readonly splitVotesMax?: number;
  /** Of a server with replicas: how many of them must have a lock before it counts. @default none */
  readonly replicas?: ReplicaOptions;
  /**
   * Of a cluster: which channels wake waiters. `auto` does as Redisson does: those of the shards, where the servers
   * have them. `both` speaks and listens on both, for fleets that do not agree. @default 'auto'
   */
  readonly pubsub?: 'auto' | 'plain' | 'sharded' | 'both';
  /** For tests and simulation. */
  readonly clock?: Clock;
  /** For tests and simulation. */
  readonly random?: Random;
}

export type ResolvedLocksOptions = Required<
  Omit<LocksOptions, 'application' | 'nodeTimeoutMs' | 'restartGuardMs' | 'replicas'>
> & {
  readonly application: string | undefined;
  /** Null: by the lease. */
  readonly nodeTimeoutMs: number | null;
  /** Null: the longest lease used. */
  readonly restartGuardMs: number | null;
  /** Null: nobody waits for them. */
  readonly replicas: ResolvedReplicas | null;
};

/** A lease to enter again under, as far as the options go: every `Lease` fits. Whose it is, is checked later. */
export interface EnteredLease {
  readonly name: string;
  readonly isHeld: boolean;
  release(): Promise<boolean>;
}

export interface AcquireOptions {
  /** How long to wait while somebody else holds it; 0 tries once. @default Infinity */
  readonly waitMs?: number;
  /** How long the server keeps it for us without a sign of life. @default the `leaseMs` of `Locks` */
  readonly leaseMs?: number;
  /** Renew at a third of the lease while it is held. `false` is a fixed lease: only `extend` moves its end. @default true */
  readonly renew?: boolean;
  /** Gives up waiting when it aborts. It does not end a lease that was granted. */
  readonly signal?: AbortSignal;
  /**
   * Enter again under this lease of the same lock, outside `using`. A re-entry shares the lease of the hold it
   * enters: `leaseMs` and `renew` mean nothing for it.
   */
  readonly within?: EnteredLease;
}

export type TryAcquireOptions = Omit<AcquireOptions, 'waitMs'>;

export interface ResolvedAcquireOptions {
  readonly waitMs: number;
  readonly leaseMs: number;
  readonly renew: boolean;
  readonly signal: AbortSignal | undefined;
  readonly within: EnteredLease | undefined;
  /** One attempt, `null` when held. */
  readonly isTry: boolean;
}

const PUBSUBS = ['auto', 'plain', 'sharded', 'both'] as const;

export function checkLeaseMs(value: unknown, name = 'leaseMs'): number {
  return integerWithin(value, name, LEASE_MS_MIN, LEASE_MS_MAX);
}

const LOCKS_OPTIONS = new Set([
  'prefix',
  'leaseMs',
  'callTimeoutMs',
  'handovers',
  'handoverMs',
  'fenceTtlMs',
  'bundleMax',
  'outageMs',
  'application',
  'nodeTimeoutMs',
  'restartGuardMs',
  'splitVotesMax',
  'replicas',
  'pubsub',
  'clock',
  'random',
]);

export function resolveLocksOptions(options: LocksOptions): ResolvedLocksOptions {
  checkObject(options, 'the options of Locks');
  checkKnown(options, LOCKS_OPTIONS, 'an option of Locks');
  const timerMsMax = 2 ** 31 - 1;
  const callTimeoutMs = integerWithin(
    options.callTimeoutMs ?? CALL_TIMEOUT_MS_DEFAULT,
    'callTimeoutMs',
    1,
    timerMsMax,
  );
  return {
    prefix: ofType(options.prefix ?? '', 'prefix', 'string'),
    leaseMs: checkLeaseMs(options.leaseMs ?? LEASE_MS_DEFAULT),
    callTimeoutMs,
    handovers: integerWithin(options.handovers ?? HANDOVERS_DEFAULT, 'handovers', 0, HANDOVERS_MAX),
    handoverMs: integerWithin(options.handoverMs ?? HANDOVER_MS_DEFAULT, 'handoverMs', 0, timerMsMax),
    fenceTtlMs: integerWithin(
      options.fenceTtlMs ?? FENCE_TTL_MS_DEFAULT,
      'fenceTtlMs',
      0,
      100 * LEASE_MS_MAX,
    ),
    bundleMax: integerWithin(options.bundleMax ?? BUNDLE_MAX_DEFAULT, 'bundleMax', 1, BUNDLE_MAX_DEFAULT),
    outageMs: integerWithin(options.outageMs ?? OUTAGE_MS_DEFAULT, 'outageMs', 0, timerMsMax),
    application:
      options.application === undefined ? undefined : checkName(options.application, 'application'),
    nodeTimeoutMs:
      options.nodeTimeoutMs === undefined
        ? null
        : integerWithin(options.nodeTimeoutMs, 'nodeTimeoutMs', 1, timerMsMax),
    restartGuardMs:
      options.restartGuardMs === undefined
        ? null
        : integerWithin(options.restartGuardMs, 'restartGuardMs', 0, LEASE_MS_MAX),
    splitVotesMax: integerWithin(
      options.splitVotesMax ?? SPLIT_VOTES_MAX_DEFAULT,
      'splitVotesMax',
      0,
      timerMsMax,
    ),
    replicas: options.replicas === undefined ? null : resolveReplicas(options.replicas, callTimeoutMs),
    pubsub: oneOf(options.pubsub ?? 'auto', 'pubsub', PUBSUBS),
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
  };
}

const ACQUIRE_OPTIONS = new Set(['waitMs', 'leaseMs', 'renew', 'signal', 'within']);
const TRY_OPTIONS = new Set(['leaseMs', 'renew', 'signal', 'within']);

function checkWaitMs(value: unknown): number {
  if (typeof value !== 'number' || Number.isNaN(value) || value < 0) {
    throw new LockConfigError(`expected waitMs to be a number of at least 0, got ${describe(value)}`);
  }
  return value;
}

function checkSignal(value: unknown): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value;
  throw new LockConfigError(`expected signal to be an AbortSignal, got ${describe(value)}`);
}

export function resolveAcquireOptions(
  options: AcquireOptions,
  defaults: ResolvedLocksOptions,
  isTry: boolean,
): ResolvedAcquireOptions {
  checkObject(options, 'the options of an acquisition');
  checkKnown(options, isTry ? TRY_OPTIONS : ACQUIRE_OPTIONS, 'an option of an acquisition');
  return {
    waitMs: checkWaitMs(options.waitMs ?? Number.POSITIVE_INFINITY),
    leaseMs: options.leaseMs === undefined ? defaults.leaseMs : checkLeaseMs(options.leaseMs),
    renew: options.renew === undefined || ofType(options.renew, 'renew', 'boolean'),
    signal: checkSignal(options.signal),
    within: options.within,
    isTry,
  };
}
