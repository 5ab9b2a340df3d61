/**
 * What callers may choose. Options are checked here once; the code behind trusts the types.
 *
 * In this folder: the options of each public call, with defaults and checks: those of `new Locks` in this file, and a
 * file for each other call. All layers above import from here.
 */
import { checkName } from '../keys/name.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { type Random, systemRandom } from '../runtime/random.ts';
import { checkKnown, checkObject, integerWithin, ofType, oneOf } from './checks.ts';
import { type ReplicaOptions, type ResolvedReplicas, resolveReplicas } from './replicas.ts';

/**
 * Redisson's default, so that Java and Node services behave alike. A crashed owner blocks the others for at most this
 * long. A shorter lease needs more renewals and survives only shorter pauses.
 */
export const LEASE_MS_DEFAULT = 30_000;

/**
 * An owner holds a lease for its length minus the drift, rounded down to a whole millisecond of the owner's clock. Of
 * 4 ms some time is always left; of 3 ms only if the rounding happens to be small; of 1 or 2 ms never.
 */
export const LEASE_MS_MIN = 4;

/** A year: a longer lease is in practice a lock that is never free. Long timers are no problem: they run in steps. */
export const LEASE_MS_MAX: number = 366 * 24 * 60 * 60 * 1000;

/**
 * How long one call to Redis may take. Long enough for a slow moment of a busy server, short enough to leave a
 * default lease several renewals before its end.
 */
export const CALL_TIMEOUT_MS_DEFAULT = 2_000;

/** More brought no more speed in measurements. With 64, another process waits for at most 65 short sections. */
export const HANDOVERS_DEFAULT = 64;

/** Only a `mutex` can use 10,000. A `lock` needs a fence for each hand-over, and a block has 1,000 at most. */
export const HANDOVERS_MAX = 10_000;

/** A server needs about half a millisecond for 128 calls. A larger bundle would delay other clients noticeably. */
const BUNDLE_MAX_DEFAULT = 128;

/** The time limit on hand-overs: long sections pass on once or twice, short ones up to `handovers` times. */
export const HANDOVER_MS_DEFAULT = 50;

/**
 * A process that is given the lock by another has it for this long before it must have stated its lease. It does that
 * within 20 ms, so this bounds what a process costs the others that is killed or freezes just then.
 */
export const CLAIM_MS_DEFAULT = 1_000;

/** A hold that is kept longer than this unused is a lock that others wait for when a message is lost. */
const LINGER_MS_MAX = 10_000;

/** With less, an event loop that is busy for a moment would lose what it was given. */
const CLAIM_MS_MIN = 100;
const CLAIM_MS_MAX = 60_000;

/**
 * An hour, counted from the end of the lease or from the time of the last fence. While the counter exists, fences grow
 * whatever the server's clock does. After it has expired, fences still grow if the clock is set back by at most an
 * hour. A longer time would cost memory: each name that is used once leaves about 150 bytes for this long, 55 MB for
 * 100 names a second.
 */
export const FENCE_TTL_MS_DEFAULT: number = 60 * 60 * 1000;

/** Waiters should survive a failover or a restart, which take a few seconds. A longer outage is reported to them. */
export const OUTAGE_MS_DEFAULT = 10_000;

/**
 * Random delays settle a split vote in two or three attempts. A hundred split votes in a row are no coincidence: a
 * clock, a network or another client keeps the votes split, and the caller should know.
 */
const SPLIT_VOTES_MAX_DEFAULT = 100;

export interface LocksOptions {
  /** A prefix for every name. The key is the client's `keyPrefix`, then this prefix, then the name. @default '' */
  readonly prefix?: string;
  /** Default lease. @default 30_000 */
  readonly leaseMs?: number;
  /** Time limit of one call to Redis. After it the outcome counts as unknown. @default 2_000 */
  readonly callTimeoutMs?: number;
  /**
   * How often one hold may pass between callers of this process without a call to Redis. 0 acquires and releases in
   * Redis every time. @default 64
   */
  readonly handovers?: number;
  /** A hold that is older does not pass on, so that other processes get the lock. @default 50 */
  readonly handoverMs?: number;
  /**
   * How long a process has a lock that another process has handed to it, until its own first renewal, which it sends
   * after 20 ms. A body that blocks the event loop for longer than this at its very beginning loses the lock. 0 asks the
   * server before every such owner is served, which costs a round trip. @default 1_000
   */
  readonly claimMs?: number;
  /**
   * Lock caching: how long a process may keep a hold that nobody uses, counted from the moment when the server granted it
   * and nobody was waiting. The next acquisition of that name in this process then needs no call to Redis. A process
   * that joins the line gets the lock at once. Guests, such as Redisson, wait for up to this long. @default 0, off
   */
  readonly lingerMs?: number;
  /**
   * How long a fence counter outlives the lease and its last fence. 0 keeps the counter for ever, which is needed
   * beside Java's `RFencedLock`. @default one hour
   */
  readonly fenceTtlMs?: number;
  /**
   * How many acquires or releases of the same moment may travel as one script call. 1 sends each call separately.
   * @default 128
   */
  readonly bundleMax?: number;
  /**
   * How long `acquire` keeps retrying while the server cannot be reached, if the server was reached before.
   * @default 10_000
   */
  readonly outageMs?: number;
  /**
   * The name of your program. A session that holds or waits stores a record of application, host and process id in
   * Redis while it lives, for tools such as `holdfast ls`: one write in the background every 20 s. `false`: no record,
   * and no additional command. @default the name of the package, or else of the script
   */
  readonly application?: string | false;
  /**
   * Quorum only: how long a server may take to answer before the others decide without it. By default a two-hundredth
   * of the lease, within 5 to 50 ms, and longer for a server that has been slow lately.
   */
  readonly nodeTimeoutMs?: number;
  /**
   * Quorum only: how long a server must have run before it votes, because a server that has restarted may have lost a
   * lease. 0 lets it vote at once, which is safe only if a restart loses no data. @default the longest lease used
   */
  readonly restartGuardMs?: number;
  /** Quorum only: after how many split votes in a row an acquisition gives up. @default 100 */
  readonly splitVotesMax?: number;
  /** How many replicas must have a lock before it counts as granted. @default none */
  readonly replicas?: ReplicaOptions;
  /**
   * Cluster only: which channels wake waiters. `auto` does as Redisson does: sharded channels, if the servers support
   * them. `both` publishes and listens on both kinds, while services change from one to the other. @default 'auto'
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
  /** Null: the name of the package or script. False: none, and no record. */
  readonly application: string | false | null;
  /** Null: computed from the lease. */
  readonly nodeTimeoutMs: number | null;
  /** Null: the longest lease used. */
  readonly restartGuardMs: number | null;
  /** Null: grants do not wait for replicas. */
  readonly replicas: ResolvedReplicas | null;
};

const PUBSUBS = ['auto', 'plain', 'sharded', 'both'] as const;

export function checkLeaseMs(value: unknown, name = 'leaseMs'): number {
  return integerWithin(value, name, LEASE_MS_MIN, LEASE_MS_MAX);
}

export function checkLingerMs(value: unknown): number {
  return integerWithin(value, 'lingerMs', 0, LINGER_MS_MAX);
}

function checkClaimMs(value: unknown): number {
  return value === 0 ? 0 : integerWithin(value, 'claimMs', CLAIM_MS_MIN, CLAIM_MS_MAX, '0 or ');
}

function checkApplication(value: unknown): string | false | null {
  if (value === undefined) return null;
  return value === false ? false : checkName(value, 'application');
}

const LOCKS_OPTIONS = new Set([
  'prefix',
  'leaseMs',
  'callTimeoutMs',
  'handovers',
  'handoverMs',
  'claimMs',
  'lingerMs',
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
    claimMs: checkClaimMs(options.claimMs ?? CLAIM_MS_DEFAULT),
    lingerMs: checkLingerMs(options.lingerMs ?? 0),
    fenceTtlMs: integerWithin(
      options.fenceTtlMs ?? FENCE_TTL_MS_DEFAULT,
      'fenceTtlMs',
      0,
      100 * LEASE_MS_MAX,
    ),
    bundleMax: integerWithin(options.bundleMax ?? BUNDLE_MAX_DEFAULT, 'bundleMax', 1, BUNDLE_MAX_DEFAULT),
    outageMs: integerWithin(options.outageMs ?? OUTAGE_MS_DEFAULT, 'outageMs', 0, timerMsMax),
    application: checkApplication(options.application),
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
