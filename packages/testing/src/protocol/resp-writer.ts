/** Writes replies as bytes, in RESP2 or RESP3. */
import { Buffer } from 'node:buffer';
import { formatFloat } from './number-text.ts';
import {
  Double,
  ErrorReply,
  Members,
  type NodeReply,
  NoList,
  Pairs,
  Push,
  Scores,
  Several,
  Status,
} from './reply.ts';

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
  if (reply instanceof NoList) return protocol === 3 ? `_${CRLF}` : `*-1${CRLF}`;
  if (reply instanceof Scores && protocol === 3) return encode(pairsOf(reply.items), 3);
  if (reply instanceof Pairs && protocol === 3) return aggregate('%', reply.items.length / 2, reply.items, 3);
  if (reply instanceof Members && protocol === 3) return aggregate('~', reply.items.length, reply.items, 3);
  if (reply instanceof Push && protocol === 3) return aggregate('>', reply.items.length, reply.items, 3);
  const items = 'items' in reply ? reply.items : reply;
  return aggregate('*', items.length, items, protocol);
}

function pairsOf(items: readonly NodeReply[]): NodeReply {
  return items.flatMap((member, i) => (i % 2 === 0 ? [[member, items[i + 1] as NodeReply]] : []));
}

function aggregate(type: string, length: number, items: readonly NodeReply[], protocol: 2 | 3): string {
  return `${type}${length}${CRLF}${items.map((item) => encode(item, protocol)).join('')}`;
}
