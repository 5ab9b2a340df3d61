/** What callers may choose for one acquisition. Options are checked here once; the code behind trusts the types. */
import { LockConfigError } from '../errors.ts';
import { describe } from '../runtime/describe.ts';
import { checkKnown, checkObject, ofType } from './checks.ts';
import { checkLeaseMs, checkLingerMs, type ResolvedLocksOptions } from './options.ts';

/** A lease to enter again under, as far as the options go: every `Lease` fits. Whose it is, is checked later. */
export interface EnteredLease {
  readonly name: string;
  readonly isHeld: boolean;
  release(): Promise<boolean>;
}

export interface AcquireOptions {
  /** How long to wait while another owner holds the lock. 0 tries once. @default Infinity */
  readonly waitMs?: number;
  /** The expiry of the lock in Redis, restarted by each renewal. @default the `leaseMs` of `Locks` */
  readonly leaseMs?: number;
  /**
   * Renew the lease each time a third of it has passed, while it is held. `false` is a fixed lease: only `extend` moves
   * its end. @default true
   */
  readonly renew?: boolean;
  /** How long the process may keep the hold when nobody uses it. @default the `lingerMs` of `Locks` */
  readonly lingerMs?: number;
  /** Ends the wait when it aborts. It does not end a lease that was granted. */
  readonly signal?: AbortSignal;
  /**
   * Enter again under this lease of the same lock, outside `using`. A re-entry shares that lease: `leaseMs` and `renew`
   * have no effect on it.
   */
  readonly within?: EnteredLease;
}

export type TryAcquireOptions = Omit<AcquireOptions, 'waitMs' | 'lingerMs'>;

export interface ResolvedAcquireOptions {
  readonly waitMs: number;
  readonly leaseMs: number;
  readonly renew: boolean;
  readonly lingerMs: number;
  readonly signal: AbortSignal | undefined;
  readonly within: EnteredLease | undefined;
  /** A `tryAcquire`: one attempt, `null` when another owner holds the lock. */
  readonly isTry: boolean;
}

const ACQUIRE_OPTIONS = new Set(['waitMs', 'leaseMs', 'renew', 'lingerMs', 'signal', 'within']);
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
    // A caller who only tries states nothing in the line, so nobody could tell it that the lock is wanted.
    lingerMs: isTry ? 0 : checkLingerMs(options.lingerMs ?? defaults.lingerMs),
    signal: checkSignal(options.signal),
    within: options.within,
    isTry,
  };
}
