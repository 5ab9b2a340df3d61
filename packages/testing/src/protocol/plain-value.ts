/** Replies as JavaScript values, for callers inside the process. */
import { toText } from './bytes.ts';
import { formatFloat } from './number-text.ts';
import { Double, ErrorReply, type NodeReply, NoList, Status } from './reply.ts';

/** A reply as a RESP2 client returns it: maps are flat lists, floating-point numbers are strings. */
export type PlainValue = string | number | bigint | null | readonly PlainValue[];

/** An error inside a list becomes its text. The caller checks first whether the whole reply is an error. */
export function plainValue(reply: NodeReply): PlainValue {
  if (typeof reply === 'string') return toText(reply);
  if (typeof reply === 'number' || typeof reply === 'bigint' || reply === null) return reply;
  if (reply instanceof Status || reply instanceof ErrorReply) return toText(reply.text);
  if (reply instanceof Double) return formatFloat(reply.value);
  if (reply instanceof NoList) return null;
  return ('items' in reply ? reply.items : reply).map(plainValue);
}
