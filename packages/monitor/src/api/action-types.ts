/** What an operator may ask for, what is written down of it, and how an answer says no. */
import type { AlertMatch } from './alert-types.ts';
import type { Row } from './row-types.ts';

/** One action in the audit trail: its entry `asked`, joined with its entry `done`. */
export interface AuditEntry {
  readonly id: string;
  readonly askedAt: number;
  readonly doneAt: number | null;
  readonly action: 'release' | 'silence' | 'ack' | 'reload';
  /** Name of the lock, or what was silenced. */
  readonly subject: string;
  readonly holder: string | null;
  readonly fence: number | null;
  readonly by: string;
  /** `page`, `cli`. */
  readonly via: string;
  readonly host: string;
  readonly address: string | null;
  readonly reason: string;
  /** `null`: asked, and nothing is known of the end. */
  readonly result: string | null;
}

/** `GET api/v1/audit?before=`: 100 entries, the newest first. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly next: string | null;
}

/** `POST api/v1/release`. 200 `{released: holder}`, 409 `{error, now: Row}`, 404 when nobody holds it. */
export interface ReleaseRequest {
  readonly name: string;
  readonly holder: string;
  /** As shown; `null` for a mutex. */
  readonly fence: number | null;
  readonly reason: string;
}

/** `POST api/v1/silence` and `ack`. */
export interface SilenceRequest {
  readonly match: AlertMatch;
  readonly until: number;
  readonly reason: string;
}

/** Every answer that is not 2xx. */
export interface ErrorBody {
  readonly error: { readonly code: ErrorCode; readonly message: string };
  /** With `changed`: the lock as it is now. */
  readonly now?: Row;
}
export type ErrorCode =
  | 'bad-request'
  | 'login-needed'
  | 'wrong-login'
  | 'slow-down'
  | 'forbidden'
  | 'actions-off'
  | 'bad-origin'
  | 'bad-host'
  | 'not-found'
  | 'not-held'
  | 'changed'
  | 'too-large'
  | 'too-many-streams'
  | 'too-many-reads'
  | 'audit-failed'
  | 'redis-away'
  | 'internal';
