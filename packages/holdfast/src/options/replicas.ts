/** How many replicas must have a lock before it counts: what callers may choose of it. */
import { LockConfigError } from '../errors.ts';
import { checkKnown, checkObject, integerWithin, ofType } from './checks.ts';

export interface ReplicaOptions {
  /** How many replicas must have a grant or a renewal before it counts; 0 asks none of them. */
  readonly min: number;
  /** How long they may take; less than `callTimeoutMs`, and at most 4 000. @default half of `callTimeoutMs` */
  readonly timeoutMs?: number;
  /**
   * The replicas and the server itself must have it on disk, in synchronised append-only files. Needs Redis 7.2 or
   * Valkey, with `appendonly yes`. @default false
   */
  readonly aof?: boolean;
}

/** Who must have a write before it counts. */
export interface ResolvedReplicas {
  readonly min: number;
  readonly timeoutMs: number;
  readonly aof: boolean;
}

const REPLICA_OPTIONS: ReadonlySet<string> = new Set(['min', 'timeoutMs', 'aof']);

/** No primary has more replicas; a larger number is a mistake. */
const REPLICAS_MAX = 1_000;

/** While a server counts replicas it answers nothing else on that connection, which is given up after a longer silence. */
const TIMEOUT_MS_MAX = 4_000;

/** Null when nothing is asked of replicas. */
export function resolveReplicas(options: ReplicaOptions, callTimeoutMs: number): ResolvedReplicas | null {
  checkObject(options, 'replicas');
  checkKnown(options, REPLICA_OPTIONS, 'an option of replicas');
  const min = integerWithin(options.min, 'replicas.min', 0, REPLICAS_MAX);
  const aof = ofType(options.aof ?? false, 'replicas.aof', 'boolean');
  if (callTimeoutMs === 1) {
    throw new LockConfigError('expected callTimeoutMs to be at least 2 with replicas, got 1');
  }
  // The answer must be back before the call is given up.
  const timeoutMs = integerWithin(
    options.timeoutMs ?? Math.min(Math.floor(callTimeoutMs / 2), TIMEOUT_MS_MAX),
    'replicas.timeoutMs (less than callTimeoutMs)',
    1,
    Math.min(callTimeoutMs - 1, TIMEOUT_MS_MAX),
  );
  return min === 0 && !aof ? null : { min, timeoutMs, aof };
}
