/**
 * Every error that holdfast throws. Match on `code`, which is stable, or with `instanceof`. Both work across two copies
 * of this package in one process: `instanceof` tests a registered symbol rather than the prototype.
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
  | 'ELOCKCLOSED'
  | 'EONCEFAILED'
  | 'EONCEMISMATCH'
  | 'EONCERESULT'
  | 'ELEADERSTUCK'
  | 'EJOBTIMEOUT';

/** Written out instead of read from `new.target.name`, because bundlers rename classes. */
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
  EONCEFAILED: 'OnceFailedError',
  EONCEMISMATCH: 'OnceMismatchError',
  EONCERESULT: 'OnceResultError',
  ELEADERSTUCK: 'LeaderStuckError',
  EJOBTIMEOUT: 'JobTimeoutError',
};

const CODE: symbol = Symbol.for('holdfast.error.code');

export function hasCode(value: unknown, code: LockErrorCode | null): boolean {
  if (typeof value !== 'object' || value === null || !(CODE in value)) return false;
  return code === null || Reflect.get(value, CODE) === code;
}

export interface LockErrorDetails {
  /** The name of the lock, as the caller gave it. Absent when the error is not about one lock. */
  readonly lock?: string | undefined;
  /** How long the failed operation took. The error has it in whole milliseconds. */
  readonly elapsedMs?: number | undefined;
  readonly cause?: unknown;
}

/** The base class of every error that holdfast throws. */
export class LockError extends Error {
  readonly code: LockErrorCode;
  // Declared, not initialised: an unknown field is absent, so that logs have no line that says `undefined`.
  declare readonly lock: string | undefined;
  declare readonly elapsedMs: number | undefined;

  constructor(code: LockErrorCode, message: string, details: LockErrorDetails = {}) {
    // Escapes control characters again: a server's text may be in the message, and the code that built the message
    // may have forgotten to escape it.
    super(
      printable(message, Number.POSITIVE_INFINITY),
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.name = NAMES[code];
    this.code = code;
    // Not enumerable, so that logs do not show it: only `instanceof` reads it.
    Object.defineProperty(this, CODE, { value: code });
    if (details.lock !== undefined) this.lock = details.lock;
    if (details.elapsedMs !== undefined) this.elapsedMs = Math.floor(details.elapsedMs);
    // Captured again, because a stack begins with the error's name at the time of the capture.
    Error.captureStackTrace(this, new.target);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, null);
  }
}

/** Who held the lock, as far as the server reported. */
export interface Holder {
  /**
   * `<session>:<hold number>`, or a Redisson holder. For a mutex: in a `LockNotHeldError` a digest, as `inspect` shows
   * it; in a `LockTimeoutError` undefined, because the value is a secret.
   */
  readonly owner: string | undefined;
  /** The time until the lock expires on the server, when the server answered. -1: it has no expiry. */
  readonly ttlMs: number;
}

/** The caller waited for `waitMs`, and another owner holds the lock. Try again later. */
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

/** The caller's signal aborted while the caller waited. `cause` is the signal's reason. */
export class LockAbortedError extends LockError {
  constructor(message: string, details: LockErrorDetails = {}) {
    super('ELOCKABORTED', message, details);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELOCKABORTED');
  }
}

/**
 * Why a lock was lost.
 *
 * - `expired`: the lease's time ran out by this process's own clock: no renewal got through, the lease was fixed, or
 *   the process was paused.
 * - `gone`: the server says that the lock is no longer ours: it was deleted, flushed, evicted or taken.
 * - `revoked`: `forceRelease` took the lock. The message has the operator's words, if there were any.
 * - `closed`: `close` or `destroy` ended the lease.
 * - `abandoned`: the lease was garbage-collected without a release, so it was no longer renewed.
 */
export type LossReason = 'expired' | 'gone' | 'revoked' | 'closed' | 'abandoned';

/** The caller held the lock and may no longer rely on it. Stop the work now: another owner may have the lock. */
export class LockLostError extends LockError {
  readonly reason: LossReason;
  /** The fence of the lost lease, so that a resource can refuse it. */
  declare readonly fence: number | undefined;
  /** What the body did, although the lease was lost while it ran. Only when `using` or `once` throws. */
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
 * The caller used a lease that it had already released: a bug in the caller. Or `forceRelease` was given an owner that
 * no longer holds the lock: `holder` is the current owner, who keeps the lock.
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

/**
 * The request was sent and not answered: it may or may not have happened. Clean-up goes on in the background. Treat the
 * lock as not held.
 */
export class LockUnknownError extends LockError {
  /** What the body of `once` did, when nobody answered whether it is stored. Only when `once` throws. */
  declare readonly outcome: PromiseSettledResult<unknown> | undefined;

  constructor(
    message: string,
    details: LockErrorDetails & { outcome?: PromiseSettledResult<unknown> | undefined } = {},
  ) {
    super('ELOCKUNKNOWN', message, details);
    if (details.outcome !== undefined) this.outcome = details.outcome;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELOCKUNKNOWN');
  }
}

/** What one server answered, or that it did not answer. */
export interface ServerFailure {
  readonly server: string;
  readonly kind: 'reply' | 'unreachable' | 'unknown' | 'closed' | 'late' | 'guard' | 'replicas';
  readonly text: string;
}

/** The server, or too many servers of a quorum, could not serve the request. An outage, never contention. */
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

/** The key holds something that is not this kind of lock. The key was not changed. Usually a naming mistake. */
export class LockConflictError extends LockError {
  /** What the body of `once` did, when the conflict was found at its end. Only when `once` throws. */
  declare readonly outcome: PromiseSettledResult<unknown> | undefined;

  constructor(
    message: string,
    details: LockErrorDetails & { outcome?: PromiseSettledResult<unknown> | undefined } = {},
  ) {
    super('ELOCKCONFLICT', message, details);
    if (details.outcome !== undefined) this.outcome = details.outcome;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELOCKCONFLICT');
  }
}

/** Bad options or misuse. Thrown before any work; the message says what was expected and what it got. */
export class LockConfigError extends LockError {
  constructor(message: string, details: LockErrorDetails = {}) {
    super('ELOCKCONFIG', message, details);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELOCKCONFIG');
  }
}

/** The `Locks` was used after `close` or `destroy`, or was closed while the caller waited. */
export class LockClosedError extends LockError {
  constructor(message: string, details: LockErrorDetails = {}) {
    super('ELOCKCLOSED', message, details);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELOCKCLOSED');
  }
}

/**
 * The body of a leader did not end within `graceMs` after its signal had aborted. Its lease is not renewed any more, and
 * another process will lead when the lease has run out. End the process: the body may still be at work.
 */
export class LeaderStuckError extends LockError {
  /** The fence of the term whose body did not end. */
  readonly fence: number;

  constructor(message: string, details: LockErrorDetails & { fence: number }) {
    super('ELEADERSTUCK', message, details);
    this.fence = details.fence;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'ELEADERSTUCK');
  }
}

/** A run of a job took longer than `atMostMs`. The reason of its signal, and what the run is recorded with. */
export class JobTimeoutError extends LockError {
  constructor(message: string, details: LockErrorDetails = {}) {
    super('EJOBTIMEOUT', message, details);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'EJOBTIMEOUT');
  }
}
