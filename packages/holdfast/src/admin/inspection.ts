/** What an inspection of one name tells. */
import type { Role } from '../keys/derived.ts';
import type { SessionRecord } from './session-record.ts';

/** A process that waits in the line of a name. */
export interface InspectedWaiter {
  /** 1 is the next owner. */
  readonly place: number;
  /** The UUID of its session. */
  readonly session: string;
  /** Who it is. Only when `record` was asked for, and the session has a record. */
  readonly record?: SessionRecord;
  /** How long it has been in the line, by the server's clock. */
  readonly waitedMs: number;
  /** Whether it would hear of its turn. A process that does not is passed over, and keeps its place. */
  readonly isListening: boolean;
}

/** Who waits for a name. */
export interface InspectedLine {
  /**
   * How many processes wait in the line. In a quorum, which has no line: how many listen for the release, one connection
   * each.
   */
  readonly waiters: number;
  /** Those who come first: at most 100 of an inspection, 10 of a list. */
  readonly line: readonly InspectedWaiter[];
  /**
   * How many connections listen for the release without a place in the line: waiters of Redisson. While another library
   * owns the lock, the first two in line listen too, and are counted here as well. In a quorum 0.
   */
  readonly guests: number;
}

export type Inspection =
  | (InspectedLine & {
      readonly name: string;
      /** `once`, `leader`, `job`: the lock of a run of a once key, of a leader, of a run of a job. `name` is that of the key, leader or job. */
      readonly kind: 'lock' | Role;
      /** `<session>:<hold number>`, or a Redisson holder. */
      readonly owner: string;
      /** Who the owner is. Only when `record` was asked for, and the owner's session has a record. */
      readonly record?: SessionRecord;
      /** How many times the owner has entered the lock. */
      readonly holdCount: number;
      /** How long until the server frees the lock unless it is renewed; -1 for a lock without an expiry. */
      readonly ttlMs: number;
      /** The end of the block of fences that the owner reserved: no owner so far has a larger one. */
      readonly fence: number | undefined;
      /**
       * Whether the owner's process may be keeping the lock although none of its callers uses it (`lingerMs`). Redis cannot
       * know more: such a process gives the lock up when another one asks for it.
       */
      readonly mayLinger: boolean;
    })
  | (InspectedLine & {
      readonly name: string;
      readonly kind: 'mutex';
      /** A digest of the owner's token: it tells owners apart, and gives nobody the right to release. */
      readonly owner: string;
      readonly ttlMs: number;
      /** As for a lock. */
      readonly mayLinger: boolean;
    })
  /** Nobody holds the lock, and somebody waits in the line. */
  | (InspectedLine & {
      readonly name: string;
      readonly kind: 'free';
      /** How long it is still left to other libraries, which have no place in the line; 0: it is not. */
      readonly openMs: number;
    })
  | {
      readonly name: string;
      readonly kind: 'other';
      /** The Redis type of what stands there instead. */
      readonly found: string;
      readonly ttlMs: number;
    };

export interface InspectOptions {
  /**
   * Also reads the records of the sessions that own and wait: application, host and process. One call more for each
   * session. Programs with `application: false`, and other libraries, have no record. @default false
   */
  readonly record?: boolean;
}
