/** Replies as bytes on the wire, in RESP2 or RESP3. */
import { Buffer } from 'node:buffer';
import { formatFloat } from './number-text.ts';
import { Double, ErrorReply, Members, type NodeReply, Pairs, Push, Several, Status } from './reply.ts';

const CRLF = '\r\n';

export function encodeReply(reply: NodeReply, protocol: 2 | 3): Buffer {
  return Buffer.from(encode(reply, protocol), 'latin1');
}

function encode(reply: NodeReply, protocol: 2 | 3): string {
  if (typeof reply === 'string') return `$${reply.length}${CRLF}${reply}${CRLF}`;
  if (typeof reply === 'number' || typeof reply === 'bigint') return `:${reply}${CRLF}`;
  if (reply === null) return protocol === 3 ? `_${CRLF}` : `$-1${CRLF}`;
  if (reply instanceof Status) return `+${reply.text}${CRLF}`;
  if (reply instanceof ErrorReply) return `-${reply.text}${CRLF}`;
  if (reply instanceof Double) {
    const text = formatFloat(reply.value);
    return protocol === 3 ? `,${text}${CRLF}` : encode(text, protocol);
  }
  if (reply instanceof Several) return reply.items.map((item) => encode(item, protocol)).join('');
  if (reply instanceof Pairs && protocol === 3) return aggregate('%', reply.items.length / 2, reply.items, 3);
  if (reply instanceof Members && protocol === 3) return aggregate('~', reply.items.length, reply.items, 3);
  if (reply instanceof Push && protocol === 3) return aggregate('>', reply.items.length, reply.items, 3);
  const items =
    reply instanceof Pairs || reply instanceof Members || reply instanceof Push ? reply.items : reply;
  return aggregate('*', items.length, items, protocol);
}

function aggregate(type: string, length: number, items: readonly NodeReply[], protocol: 2 | 3): string {
  return `${type}${length}${CRLF}${items.map((item) => encode(item, protocol)).join('')}`;
}
