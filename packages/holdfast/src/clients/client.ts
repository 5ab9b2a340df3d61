/**
 * The seam between holdfast and a Redis client: four verbs, and nothing else crosses it.
 *
 * A client never throws through the seam and never decides anything. A call ends in the server's reply or in a
 * `CallFailure` of one of four kinds, at the deadline at the latest, whatever the client underneath does. A client that
 * was handed in as this seam, and throws all the same, is caught once, by `guardClient`.
 */

import type { Reply, ScriptCall } from '../scripts/script-call.ts';

export type { Reply, Scalar, ScriptCall, ScriptText } from '../scripts/script-call.ts';

/**
 * - `reply`: the server answered with an error. `word` is its first word (`LOADING`, `WRONGTYPE`, `ERR`).
 * - `unreachable`: the call was never written to a connection. It has not happened and will not happen.
 * - `unknown`: written, no answer. It may have happened, or happen later.
 * - `closed`: the client was closed, by us or by its owner. Never written.
 */
export type CallFailureKind = 'reply' | 'unreachable' | 'unknown' | 'closed';

const FAILURE: symbol = Symbol.for('holdfast.call-failure');

/**
 * Why a call has no reply. A value, not an exception: the caller decides what it means. `instanceof` tests a registered
 * symbol: the client may come from another copy of this package, such as the one that `holdfast-testing` imports.
 */
export class CallFailure {
  readonly kind: CallFailureKind;
  /** The first word of an error reply, upper case; empty for the other kinds. */
  readonly word: string;
  /** What the server or the client said. */
  readonly text: string;
  readonly cause: unknown;

  constructor(kind: CallFailureKind, text: string, word = '', cause?: unknown) {
    this.kind = kind;
    this.text = text;
    this.word = word;
    this.cause = cause;
    // The mark is not enumerable, so that logs do not show it.
    Object.defineProperty(this, FAILURE, { value: true });
  }

  static [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && FAILURE in value;
  }
}

/** Which replicas must have a write before it counts. */
export interface ReplicaTerms {
  /** How many replicas. */
  readonly min: number;
  /** How long the replicas may take. */
  readonly timeoutMs: number;
  /** On disk, at the replicas and at the server itself, not only in memory. */
  readonly aof: boolean;
}

/** Which servers have a write. */
export interface Copies {
  readonly replicas: number;
  /** 1 when the server itself has the write on disk. Only told when `aof` was asked for. */
  readonly local: number;
}

/** A script has answered; which replicas have what it wrote is told later. */
export interface Acknowledged {
  readonly reply: Reply;
  readonly copies: Promise<Copies | CallFailure>;
}

/**
 * Called for each message on a channel, and with `null` when messages may have been missed (the subscription
 * was lost and is restored). A hint, never a decision.
 */
export type Wake = (message: string | null) => void;

export type StopListening = () => void;

/** Marks an object as this seam, so that `new Locks(...)` can take one as it is. */
export const CLIENT: unique symbol = Symbol.for('holdfast.client') as never;

export interface Client {
  readonly [CLIENT]: true;
  /** For messages: which client, where. No secrets. */
  readonly description: string;
  /** The caller's own key prefix. We put it in front of every name, so keys and channels both carry it. */
  readonly keyPrefix: string;
  /** Whether a call would be written at once. */
  readonly isConnected: boolean;
  /** How many connections the client has had so far. Between two of them the server may have restarted. */
  readonly connections: number;
  /** True when lost connections are made again without being counted. Such a client cannot be in a quorum. @default false */
  readonly reconnectsSilently?: boolean;
  /**
   * Runs a script: by its hash, and by its text on the same node when the server does not know it. Written a second time
   * over another connection, it ends as `unknown`, whatever is answered: the first copy may still be on its way.
   */
  run(call: ScriptCall, timeoutMs: number): Promise<Reply | CallFailure>;
  /**
   * Runs a script that writes, then counts the replicas that have the write, on a connection where nothing else waits
   * behind the count. A client without this verb cannot serve `replicas`.
   */
  acknowledge?(call: ScriptCall, terms: ReplicaTerms, timeoutMs: number): Promise<Acknowledged | CallFailure>;
  /** Hears a channel until stopped. Resolves when the server has confirmed, or with why it did not. */
  listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure>;
  /** Closes what we made. The caller's own client stays open. Calls in flight end as `closed` or `unknown`. */
  close(): Promise<void>;
}
