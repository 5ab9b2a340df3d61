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
  /** The script that runs many calls of this one: keys and arguments laid end to end, one reply for each call. */
  readonly bundle?: ScriptText;
}

/** One call of a script: keys are full Redis keys, arguments are strings. */
export interface ScriptCall {
  /** Asked before the call is written a second time: its release may have been written meanwhile. @default always */
  readonly isWanted?: () => boolean;
  readonly script: ScriptText;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Sent behind ASKING, to a cluster node that is taking over the slot: the node refuses the call without it. */
  readonly isAsking?: true;
}
