/**
 * Replies of commands, before they are written in RESP2 or RESP3. A JavaScript string is a bulk string.
 *
 * In this folder: RESP: requests, replies, bytes and numbers. All other folders import from here.
 */

/** `+OK` and the like. */
export class Status {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An error reply. A value rather than an exception: a script may catch it, a transaction may contain it. */
export class ErrorReply {
  /** The whole text without the dash of the protocol: `WRONGTYPE Operation against a key ...`. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  get word(): string {
    const end = this.text.indexOf(' ');
    return end < 0 ? this.text : this.text.slice(0, end);
  }
}

/** A floating-point number: a bulk string in RESP2. */
export class Double {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** A missing list: in RESP2 it is written differently from a missing string. */
export class NoList {
  readonly items: readonly NodeReply[] = [];
}

/** Several replies in one. RESP2 writes all of these as an array, RESP3 by what they are. */
class Aggregate<Item extends NodeReply = NodeReply> {
  readonly items: readonly Item[];

  constructor(items: readonly Item[]) {
    this.items = items;
  }
}

/** Members and scores alternately: an array of pairs in RESP3, a flat array in RESP2. */
export class Scores extends Aggregate {}

/** Keys and values alternately: a map in RESP3, a flat array in RESP2. */
export class Pairs extends Aggregate {}

/** A set in RESP3, an array in RESP2. */
export class Members extends Aggregate {}

/** Several messages for one command: SUBSCRIBE confirms each of its channels. */
export class Several extends Aggregate<Push> {}

/** A message that answers no request: a push in RESP3, an array in RESP2. */
export class Push extends Aggregate {}

export type NodeReply =
  | string
  | number
  | bigint
  | null
  | Status
  | ErrorReply
  | Double
  | NoList
  | Scores
  | Pairs
  | Members
  | Push
  | Several
  | readonly NodeReply[];

export const NO_LIST: NoList = new NoList();
export const OK: Status = new Status('OK');
export const QUEUED: Status = new Status('QUEUED');

/** Whether a reply is a list of replies. `Array.isArray` does not narrow a readonly array. */
export function isList(reply: NodeReply): reply is readonly NodeReply[] {
  return Array.isArray(reply);
}
