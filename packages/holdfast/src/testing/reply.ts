/** What a command answers, before it is written in one of the two protocols. A bare string is a bulk string. */

/** `+OK` and the like. */
export class Status {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An error reply, as a value: a script may catch it, a transaction may contain it. */
export class ErrorReply {
  /** With its first word, without the dash: `WRONGTYPE Operation against a key ...`. */
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

/** No list at all, which RESP2 tells from no string. */
export class NoList {
  readonly items: readonly NodeReply[] = [];
}

/** Members and scores in turn: pairs of their own in RESP3, a flat array in RESP2. */
export class Scores {
  readonly items: readonly NodeReply[];

  constructor(items: readonly NodeReply[]) {
    this.items = items;
  }
}

/** Keys and values in turn: a map in RESP3, a flat array in RESP2. */
export class Pairs {
  readonly items: readonly NodeReply[];

  constructor(items: readonly NodeReply[]) {
    this.items = items;
  }
}

/** A set in RESP3, an array in RESP2. */
export class Members {
  readonly items: readonly NodeReply[];

  constructor(items: readonly NodeReply[]) {
    this.items = items;
  }
}

/** Several messages for one command, as SUBSCRIBE with many channels answers. */
export class Several {
  readonly items: readonly Push[];

  constructor(items: readonly Push[]) {
    this.items = items;
  }
}

/** A message that belongs to no question: of its own type in RESP3, an array in RESP2. */
export class Push {
  readonly items: readonly NodeReply[];

  constructor(items: readonly NodeReply[]) {
    this.items = items;
  }
}

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

/** Whether it is a list of replies; `Array.isArray` does not narrow a readonly array. */
export function isList(reply: NodeReply): reply is readonly NodeReply[] {
  return Array.isArray(reply);
}
