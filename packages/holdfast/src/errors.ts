/**
 * The whole family. Match on `code`: it is stable, and two copies of this package in one process agree on it
 * (and on `instanceof`, which tests a registered symbol rather than the prototype).
 */
import { printable } from './runtime/printable.ts';

export type LockErrorCode =
  | 'ELOCKTIMEOUT'
  | 'ELOCKABORTED'
  | 'ELOCKLOST'
  | 'ELOCKNOTHELD'
  | 'ELOCKUNKNOWN'
  | 'ELOCKUNAVAILABLE'
  | 'ELOCKCONFLICT'
  | 'ELOCKCONFIG'
  | 'ELOCKCLOSED';

/** Not by `new.target.name`: bundlers rename classes. */
const NAMES: Readonly<Record<LockErrorCode, string>> = {
  ELOCKTIMEOUT: 'LockTimeoutError',
  ELOCKABORTED: 'LockAbortedError',
  ELOCKLOST: 'LockLostError',
  ELOCKNOTHELD: 'LockNotHeldError',
  ELOCKUNKNOWN: 'LockUnknownError',
  ELOCKUNAVAILABLE: 'LockUnavailableError',
  ELOCKCONFLICT: 'LockConflictError',
  ELOCKCONFIG: 'LockConfigError',
  ELOCKCLOSED: 'LockClosedError',
};

const CODE: symbol = Symbol.for('holdfast.error.code');

function hasCode(value: unknown, code: LockErrorCode | null): boolean {
  if (typeof value !== 'object' || value === null || !(CODE in value)) return false;
  return code === null || Reflect.get(value, CODE) === code;
}

export interface LockErrorDetails {
  /** The name of the lock as the caller gave it; absent when the error is not about one lock. */
  readonly lock?: string | undefined;
  /** How long the failed operation took; told in whole milliseconds. */
  readonly elapsedMs?: number | undefined;
  readonly cause?: unknown;
}

/** The base of every error that holdfast throws. */
export class LockError extends Error {
  readonly code: LockErrorCode;
  // Declared only: what is not known is absent, rather than a line that says `undefined` in every log.
  declare readonly lock: string | undefined;
  declare readonly elapsedMs: number | undefined;

  constructor(code: LockErrorCode, message: string, details: LockErrorDetails = {}) {
    // Whatever a server said is shown and not obeyed, also where the writer of a message forgot that.
    super(
      printable(message, Number.POSITIVE_INFINITY),
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.name = NAMES[code];
    this.code = code;
    // Not enumerable: it is for us, not for logs.
    Object.defineProperty(this, CODE, { value: code });
    if (details.lock !== undefined) this.lock = details.lock;
    if (details.elapsedMs !== undefined) this.elapsedMs = Math.floor(details.elapsedMs);
    // Once more, because a stack begins with the name as it was when it was taken.
    Error.captureStackTrace(this, new.target);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, null);
  }
}

/** Who was in the way, as far as the server told. */
export interface Holder {
  /**
   * `<session>:<hold number>`, or a Redisson holder. Of a mutex a digest, as `inspect` shows it, in a `LockNotHeldError`
   * and nothing in a `LockTimeoutError`.
   */
  readonly owner: string | undefined;
  /** How long the server would have kept it at that moment; -1 when it had no expiry. */
  readonly ttlMs: number;
}

/** Waited and did not get it: somebody else holds it. Try again later. */
export class LockTimeoutError extends LockError {
  declare readonly holder: Holder | undefined;

  constructor(message: string, details: LockErrorDetails & { holder?: Holder | undefined } = {}) {
    super('ELOCKTIMEOUT', message, details);
    if (details.holder !== undefined) this.holder = details.holder;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELOCKTIMEOUT');
  }
}

/** The caller's signal fired while it waited. `cause` is the signal's reason. */
export class LockAbortedError extends LockError {
  constructor(message: string, details: LockErrorDetails = {}) {
    super('ELOCKABORTED', message, details);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELOCKABORTED');
  }
}

/**
 * - `expired`: its time ran out by our own clock: no renewal got through, or it had a fixed lease.
 * - `gone`: the server says that it is not ours any more: deleted, flushed, evicted or taken.
 * - `revoked`: `forceRelease` of this process took it.
 * - `closed`: `close` or `destroy` ended it.
 * - `abandoned`: the lease was garbage-collected without a release, so it was not renewed any more.
 */
export type LossReason = 'expired' | 'gone' | 'revoked' | 'closed' | 'abandoned';

/** It was held and can no longer be claimed. Stop the work now. */
export class LockLostError extends LockError {
  readonly reason: LossReason;
  /** The fence that the lost lease had, so that a resource can refuse it. */
  declare readonly fence: number | undefined;
  /** What the body of `using` did although the lease was lost under it. */
  declare readonly outcome: PromiseSettledResult<unknown> | undefined;

  constructor(
    message: string,
    details: LockErrorDetails & {
      reason: LossReason;
      fence?: number | undefined;
      outcome?: PromiseSettledResult<unknown> | undefined;
    },
  ) {
    super('ELOCKLOST', message, details);
    this.reason = details.reason;
    if (details.fence !== undefined) this.fence = details.fence;
    if (details.outcome !== undefined) this.outcome = details.outcome;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELOCKLOST');
  }
}

/**
 * Something was asked of a lease that has been released: a bug in the caller. Or `forceRelease` was told an owner that
 * does not hold it any more: `holder` is who does, and was left alone.
 */
export class LockNotHeldError extends LockError {
  readonly holder: Holder | undefined;

  constructor(message: string, details: LockErrorDetails & { holder?: Holder | undefined } = {}) {
    super('ELOCKNOTHELD', message, details);
    this.holder = details.holder;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELOCKNOTHELD');
  }
}

/** The request may or may not have happened. It is being cleaned up; treat the lock as not held. */
export class LockUnknownError extends LockError {
  constructor(message: string, details: LockErrorDetails = {}) {
    super('ELOCKUNKNOWN', message, details);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELOCKUNKNOWN');
  }
}

/** What one server said, or that it said nothing. */
export interface ServerFailure {
  readonly server: string;
  readonly kind: 'reply' | 'unreachable' | 'unknown' | 'closed' | 'late' | 'guard' | 'replicas';
  readonly text: string;
}

/** Not enough servers answered. An outage, never contention. */
export class LockUnavailableError extends LockError {
  readonly servers: readonly ServerFailure[];

  constructor(message: string, details: LockErrorDetails & { servers?: readonly ServerFailure[] } = {}) {
    super('ELOCKUNAVAILABLE', message, details);
    this.servers = details.servers ?? [];
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELOCKUNAVAILABLE');
  }
}

/** The key holds something that is not this kind of lock. It was left untouched. A naming mistake. */
export class LockConflictError extends LockError {
  constructor(message: string, details: LockErrorDetails = {}) {
    super('ELOCKCONFLICT', message, details);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELOCKCONFLICT');
  }
}

/** Bad options or misuse, thrown before any work: expected what, got what. */
export class LockConfigError extends LockError {
  constructor(message: string, details: LockErrorDetails = {}) {
    super('ELOCKCONFIG', message, details);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELOCKCONFIG');
  }
}

/** Used after `close` or `destroy`. */
export class LockClosedError extends LockError {
  constructor(message: string, details: LockErrorDetails = {}) {
    super('ELOCKCLOSED', message, details);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELOCKCLOSED');
  }
}
