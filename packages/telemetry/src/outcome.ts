/** How an acquisition ended, in one word. */
import { LockError, type LockErrorCode, type LockTrace } from 'holdfast';

export type Outcome =
  | 'acquired'
  | 'busy'
  | 'timeout'
  | 'aborted'
  | 'unavailable'
  | 'unknown'
  | 'conflict'
  | 'closed'
  | 'lost'
  | 'failed';

const OUTCOMES: Readonly<Record<LockErrorCode, Outcome>> = {
  ELOCKTIMEOUT: 'timeout',
  ELOCKABORTED: 'aborted',
  ELOCKUNAVAILABLE: 'unavailable',
  ELOCKUNKNOWN: 'unknown',
  ELOCKCONFLICT: 'conflict',
  ELOCKCLOSED: 'closed',
  // A re-entry under an owner that has lost the lock.
  ELOCKLOST: 'lost',
  ELOCKNOTHELD: 'failed',
  ELOCKCONFIG: 'failed',
  EONCEFAILED: 'failed',
  EONCEMISMATCH: 'failed',
  EONCERESULT: 'failed',
  ELEADERSTUCK: 'failed',
  EJOBTIMEOUT: 'failed',
};

/** What OpenTelemetry says where there is no word for the type of an error. */
const OTHER_ERROR = '_OTHER';

export interface Ended {
  readonly outcome: Outcome;
  /** The code of the error; empty when there was none. */
  readonly errorType: string;
}

const ACQUIRED: Ended = { outcome: 'acquired', errorType: '' };
const BUSY: Ended = { outcome: 'busy', errorType: '' };

/** The code of the error, or a word for all others; empty when there was none. */
export function errorTypeOf(error: unknown): string {
  if (error === undefined) return '';
  return error instanceof LockError ? error.code : OTHER_ERROR;
}

/** Of an acquisition that has ended. */
export function outcomeOf({ error, result }: LockTrace): Ended {
  if (error === undefined) return result === null ? BUSY : ACQUIRED;
  const errorType = errorTypeOf(error);
  return { outcome: error instanceof LockError ? (OUTCOMES[error.code] ?? 'failed') : 'failed', errorType };
}
