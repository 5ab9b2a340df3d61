/** A script as it is sent to a server, and what it answers: the words that scripts and clients share. */

/** What our scripts answer: integers, strings, nil, and flat arrays of those. */
export type Scalar = number | string | null;
export type Reply = Scalar | readonly Scalar[];

/** A Lua script as it is sent. */
export interface ScriptText {
  /** For messages and telemetry: `lock.acquire`. */
  readonly name: string;
  /** SHA-1 of the source, in lower-case hexadecimal. */
  readonly sha: string;
  readonly source: string;
  /** The same for many calls at once: keys and arguments laid end to end, one reply each. */
  readonly bundle?: ScriptText;
}

/** One call of a script: keys are full Redis keys, arguments are strings. */
export interface ScriptCall {
  /** Asked before it is written a second time: what undoes it may have been written meanwhile. @default always */
  readonly isWanted?: () => boolean;
  readonly script: ScriptText;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** For a node that is taking over the slot, which serves it only to those who say that they were sent there. */
  readonly isAsking?: true;
}
