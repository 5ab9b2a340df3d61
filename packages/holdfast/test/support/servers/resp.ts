/**
 * Enough of the Redis protocol to cut a byte stream into whole messages, RESP2 and RESP3, and to say what each
 * one holds. Inline commands and streamed values are not understood: no client we test sends them.
 */

/** An error reply, as a value: a reader of a stream must not throw because a server refused something. */
export class RespError {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Maps are flat lists of keys and values, sets are lists, big numbers and verbatim texts are strings. */
export type RespValue = string | number | boolean | null | RespError | RespValue[];

/** One whole message: its bytes as they came and what they mean. */
export interface Frame {
  readonly bytes: Buffer;
  /** The first byte, which says the type: `+ - : $ * _ # , ( = % ~ >`. */
  readonly type: string;
  readonly value: RespValue;
}

interface Parsed {
  readonly value: RespValue;
  readonly type: string;
  readonly end: number;
}

const CRLF = '\r\n';

/** Gathers chunks and gives back the messages that are complete. */
export class RespReader {
  #pending: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Frame[] {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const frames: Frame[] = [];
    let start = 0;
    for (;;) {
      const parsed = parse(this.#pending, start);
      if (parsed === undefined) break;
      frames.push({
        bytes: this.#pending.subarray(start, parsed.end),
        type: parsed.type,
        value: parsed.value,
      });
      start = parsed.end;
    }
    this.#pending = this.#pending.subarray(start);
    return frames;
  }
}

/** A request as every client writes it: an array of bulk strings. */
export function encodeRequest(args: readonly string[]): Buffer {
  const parts = args.map((arg) => `$${Buffer.byteLength(arg)}${CRLF}${arg}${CRLF}`);
  return Buffer.from(`*${args.length}${CRLF}${parts.join('')}`);
}

function parse(buffer: Buffer, start: number): Parsed | undefined {
  const lineEnd = buffer.indexOf(CRLF, start);
  if (lineEnd < 0) return undefined;
  const type = String.fromCharCode(buffer[start] ?? 0);
  const line = buffer.toString('utf8', start + 1, lineEnd);
  const end = lineEnd + CRLF.length;
  switch (type) {
    case '+':
    case '(':
      return { type, value: line, end };
    case '-':
      return { type, value: new RespError(line), end };
    case ':':
      return { type, value: Number(line), end };
    case ',':
      return { type, value: parseDouble(line), end };
    case '#':
      return { type, value: line === 't', end };
    case '_':
      return { type, value: null, end };
    case '$':
    case '!':
    case '=':
      return parseBulk(buffer, type, Number(line), end);
    case '*':
    case '~':
    case '>':
      return parseList(buffer, type, Number(line), end);
    case '%':
      return parseList(buffer, type, Number(line) * 2, end);
    case '|':
      return parseAttributed(buffer, Number(line) * 2, end);
    default:
      throw new Error(`not a RESP message: it begins with ${JSON.stringify(type + line)}`);
  }
}

function parseDouble(line: string): number {
  if (line === 'inf') return Number.POSITIVE_INFINITY;
  return line === '-inf' ? Number.NEGATIVE_INFINITY : Number(line);
}

function parseBulk(buffer: Buffer, type: string, length: number, start: number): Parsed | undefined {
  if (length < 0) return { type, value: null, end: start };
  const end = start + length + CRLF.length;
  if (buffer.length < end) return undefined;
  const text = buffer.toString('utf8', start, start + length);
  if (type === '!') return { type, value: new RespError(text), end };
  // A verbatim text carries its format in four characters, `txt:`.
  return { type, value: type === '=' ? text.slice(4) : text, end };
}

function parseList(buffer: Buffer, type: string, length: number, start: number): Parsed | undefined {
  if (length < 0) return { type, value: null, end: start };
  const value: RespValue[] = [];
  let end = start;
  for (let index = 0; index < length; index += 1) {
    const item = parse(buffer, end);
    if (item === undefined) return undefined;
    value.push(item.value);
    end = item.end;
  }
  return { type, value, end };
}

/** Attributes are a preface to a value, not a message of their own. */
function parseAttributed(buffer: Buffer, length: number, start: number): Parsed | undefined {
  const attributes = parseList(buffer, '|', length, start);
  return attributes === undefined ? undefined : parse(buffer, attributes.end);
}
