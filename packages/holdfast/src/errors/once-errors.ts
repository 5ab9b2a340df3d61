/**
 * The errors of `once`.
 *
 * In this folder: errors that only one kind of lock throws. Only `index.ts` and `primitives/once/` import from here.
 */
import { hasCode, LockError, type LockErrorDetails } from '../errors.ts';

/** What is kept of an error that a body threw. Its class and its stack are not. */
export interface OriginalError {
  readonly name: string;
  readonly message: string;
  /** Its `code`, if that was a string. */
  readonly code?: string;
}

/**
 * - `failed`: the body threw in its last attempt, or with `onError: 'rethrow'`.
 * - `abandoned`: every attempt ended without a word: its process died, or was cut off.
 * - `unstorable`: the body returned something that could not be stored. It is not run again.
 */
export type OnceFailure = 'failed' | 'abandoned' | 'unstorable';

/** The work of a `once` key has failed, in this process or in another, and the failure is kept. */
export class OnceFailedError extends LockError {
  readonly reason: OnceFailure;
  /** The attempt that failed. */
  readonly attempt: number;
  /** What the body threw, or why its result could not be stored. Absent when nobody could say. */
  declare readonly original: OriginalError | undefined;

  constructor(
    message: string,
    details: LockErrorDetails & {
      reason: OnceFailure;
      attempt: number;
      original?: OriginalError | undefined;
    },
  ) {
    super('EONCEFAILED', message, details);
    this.reason = details.reason;
    this.attempt = details.attempt;
    if (details.original !== undefined) this.original = details.original;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'EONCEFAILED');
  }
}

/** The `once` key belongs to another request: its `fingerprint` is not the caller's. */
export class OnceMismatchError extends LockError {
  constructor(message: string, details: LockErrorDetails = {}) {
    super('EONCEMISMATCH', message, details);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'EONCEMISMATCH');
  }
}

/**
 * The result of a `once` key cannot be stored (`size`, `encode`) or read (`decode`). The work was done, and is not done
 * again.
 */
export class OnceResultError extends LockError {
  readonly reason: 'size' | 'encode' | 'decode';
  /** What the body did, if it ran for this caller. */
  declare readonly outcome: PromiseSettledResult<unknown> | undefined;

  constructor(
    message: string,
    details: LockErrorDetails & {
      reason: 'size' | 'encode' | 'decode';
      outcome?: PromiseSettledResult<unknown> | undefined;
    },
  ) {
    super('EONCERESULT', message, details);
    this.reason = details.reason;
    if (details.outcome !== undefined) this.outcome = details.outcome;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'EONCERESULT');
  }
}
