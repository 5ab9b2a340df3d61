/** What an inspection of one name tells. */
import type { SessionRecord } from './session-record.ts';

export type Inspection =
  | {
      readonly name: string;
      readonly kind: 'lock';
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
      /** How many connections listen for the release: one for each process that waits. */
      readonly waiters: number;
    }
  | {
      readonly name: string;
      readonly kind: 'mutex';
      /** A digest of the owner's token: it tells owners apart, and gives nobody the right to release. */
      readonly owner: string;
      readonly ttlMs: number;
      readonly waiters: number;
    }
  | {
      readonly name: string;
      readonly kind: 'other';
      /** The Redis type of what stands there instead. */
      readonly found: string;
      readonly ttlMs: number;
    };

export interface InspectOptions {
  /**
   * Also reads the record of the owner's session: application, host and process. One call more. Programs without the
   * option `application`, and other libraries, have no record. @default false
   */
  readonly record?: boolean;
}
