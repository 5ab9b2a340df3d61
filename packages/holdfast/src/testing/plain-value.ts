/** Replies as ordinary values, for those who have no socket between them and the node. */
import { toText } from './bytes.ts';
import { formatFloat } from './number-text.ts';
import { Double, ErrorReply, type NodeReply, NoList, Status } from './reply.ts';

/** As a client in RESP2 gives them: maps are flat lists, floating-point numbers are strings. */
export type PlainValue = string | number | bigint | null | readonly PlainValue[];

/** An error inside a list is its text; one that is the whole reply is the caller's to see first. */
export function plainValue(reply: NodeReply): PlainValue {
  if (typeof reply === 'string') return toText(reply);
  if (typeof reply === 'number' || typeof reply === 'bigint' || reply === null) return reply;
  if (reply instanceof Status || reply instanceof ErrorReply) return toText(reply.text);
  if (reply instanceof Double) return formatFloat(reply.value);
  if (reply instanceof NoList) return null;
  return ('items' in reply ? reply.items : reply).map(plainValue);
}
