/** How a result becomes bytes in the database, and comes back. */
import { described } from './checks.ts';

export interface Codec<T> {
  encode(value: T): string | Uint8Array;
  decode(bytes: Uint8Array): T;
}

/** JSON. `undefined` is no JSON: it is stored as no bytes at all. */
const JSON_CODEC: Codec<unknown> = {
  encode(value) {
    if (value === undefined) return '';
    const text: string | undefined = JSON.stringify(value);
    if (text === undefined)
      throw new TypeError(`expected a result that JSON can hold, got ${described(value)}`);
    return text;
  },
  decode: (bytes) => (bytes.length === 0 ? undefined : JSON.parse(Buffer.from(bytes).toString())),
};

/** Without a codec of the caller's, a result is what JSON makes of it. */
export function codecOf<T>(codec: Codec<T> | undefined): Codec<T> {
  return codec ?? (JSON_CODEC as Codec<T>);
}

export function encoded<T>(codec: Codec<T>, value: T, bytesMax: number): Buffer {
  const bytes: unknown = codec.encode(value);
  if (typeof bytes !== 'string' && !(bytes instanceof Uint8Array))
    throw new TypeError(`expected encode to return a string or a Uint8Array, got ${described(bytes)}`);
  const buffer = Buffer.from(bytes as Uint8Array);
  if (buffer.length > bytesMax)
    throw new RangeError(`expected a result of at most ${bytesMax} bytes (maxBytes), got ${buffer.length}`);
  return buffer;
}

/** As drivers return a column of bytes. Some return the text form of PostgreSQL. */
export function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  const text = String(value);
  return text.startsWith('\\x') ? Buffer.from(text.slice(2), 'hex') : Buffer.from(text);
}
