/** What callers may choose for a leader. Options are checked here once; the code behind trusts the types. */
import { LockConfigError } from '../errors.ts';
import type { BackoffRange } from '../runtime/backoff.ts';
import { describe } from '../runtime/describe.ts';
import { checkKnown, checkObject, finiteFromZero, integerWithin, oneOf } from './checks.ts';
import { checkLeaseMs, type ResolvedLocksOptions } from './options.ts';

/**
 * How long a body may take to end after its signal has aborted. Long enough to finish a request or a transaction, and
 * shorter than the 30 s after which most platforms kill a process that was told to end.
 */
const GRACE_MS_DEFAULT = 10_000;

/** The pauses between two terms of one process: another process gets its chance, and a body that fails at once does not spin. */
const BACKOFF_DEFAULT: BackoffRange = { minMs: 1_000, maxMs: 30_000 };

/** A day: a longer pause is a process that will never lead again. */
const BACKOFF_MS_MAX: number = 24 * 60 * 60 * 1000;

export interface LeaderOptions {
  /** How long the lock of a leader that was killed keeps the others out. @default the `leaseMs` of `Locks` */
  readonly leaseMs?: number;
  /** How long the body may take to end after its signal has aborted. @default 10_000 */
  readonly graceMs?: number;
  /** What follows when the body returns: another campaign, or the end of `run`. @default 'campaign' */
  readonly afterReturn?: 'campaign' | 'stop';
  /** The pause before the next campaign, doubling from `min` to `max`. @default { min: 1_000, max: 30_000 } */
  readonly backoffMs?: { readonly min: number; readonly max: number };
}

export interface ResolvedLeaderOptions {
  readonly leaseMs: number;
  readonly graceMs: number;
  readonly afterReturn: 'campaign' | 'stop';
  readonly backoff: BackoffRange;
}

const LEADER_OPTIONS = new Set(['leaseMs', 'graceMs', 'afterReturn', 'backoffMs']);
const BACKOFF_FIELDS = new Set(['min', 'max']);

export function resolveLeaderOptions(
  options: LeaderOptions,
  defaults: Pick<ResolvedLocksOptions, 'leaseMs'>,
): ResolvedLeaderOptions {
  checkObject(options, 'the options of a leader');
  checkKnown(options, LEADER_OPTIONS, 'an option of a leader');
  const { leaseMs, graceMs = GRACE_MS_DEFAULT, afterReturn = 'campaign', backoffMs } = options;
  return {
    leaseMs: leaseMs === undefined ? defaults.leaseMs : checkLeaseMs(leaseMs),
    graceMs: finiteFromZero(graceMs, 'graceMs'),
    afterReturn: oneOf(afterReturn, 'afterReturn', ['campaign', 'stop'] as const),
    backoff: backoffMs === undefined ? BACKOFF_DEFAULT : checkBackoff(backoffMs),
  };
}

function checkBackoff(value: { readonly min: number; readonly max: number }): BackoffRange {
  checkObject(value, 'backoffMs');
  checkKnown(value, BACKOFF_FIELDS, 'a field of backoffMs');
  const minMs = integerWithin(value.min, 'backoffMs.min', 1, BACKOFF_MS_MAX);
  const maxMs = integerWithin(value.max, 'backoffMs.max', 1, BACKOFF_MS_MAX);
  if (maxMs >= minMs) return { minMs, maxMs };
  throw new LockConfigError(`expected backoffMs.max to be at least min, ${minMs}, got ${describe(maxMs)}`);
}

export interface LeaderRunOptions {
  /** Ends `run` when it aborts: the body is told, and the lock is released when the body has ended. */
  readonly signal?: AbortSignal;
}

const RUN_OPTIONS = new Set(['signal']);

export function checkRunOptions(options: LeaderRunOptions): AbortSignal | undefined {
  checkObject(options, 'the options of run');
  checkKnown(options, RUN_OPTIONS, 'an option of run');
  const { signal } = options;
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw new LockConfigError(`expected signal to be an AbortSignal, got ${describe(signal)}`);
}
