/**
 * Results and failures as they are stored. The first character says how a result is written: `j` JSON, `u` the value
 * `undefined`, `s` the text of a codec, `b` the bytes of a codec in base64, because scripts take and give text.
 */
import type { OriginalError } from '../../errors/once-errors.ts';
import { OnceResultError } from '../../errors/once-errors.ts';
import type { OnceCodec } from '../../options/once-options.ts';
import { describe } from '../../runtime/describe.ts';
import { quote } from '../../runtime/printable.ts';

/** What is kept of an error: its name and its code, and of its message as much as fits. */
const FAILURE_CHARACTERS_MAX = 1_000;
const NAME_CHARACTERS_MAX = 100;

/** Throws `OnceResultError` without an outcome: the caller adds it. */
export function encodeResult<T>(
  key: string,
  value: T,
  codec: OnceCodec<T> | undefined,
  maxBytes: number,
): string {
  const { payload, bytes } = codec === undefined ? encodeJson(key, value) : encodeWith(codec, key, value);
  if (bytes <= maxBytes) return payload;
  const message = `once ${quote(key)}: expected a result of at most ${maxBytes} bytes, got ${bytes}; it is not stored, and not run again`;
  throw new OnceResultError(message, { lock: key, reason: 'size' });
}

interface Encoded {
  readonly payload: string;
  readonly bytes: number;
}

function encodeJson(key: string, value: unknown): Encoded {
  if (value === undefined) return { payload: 'u', bytes: 0 };
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    throw unwritable(key, 'JSON cannot write it', error);
  }
  // A function or a symbol.
  if (json === undefined) throw unwritable(key, `JSON cannot write ${describe(value)}`);
  return { payload: `j${json}`, bytes: Buffer.byteLength(json) };
}

function encodeWith<T>(codec: OnceCodec<T>, key: string, value: T): Encoded {
  let encoded: unknown;
  try {
    encoded = codec.encode(value);
    if (encoded instanceof Uint8Array) {
      // Throws where the memory of the array was transferred elsewhere.
      const bytes = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.byteLength);
      return { payload: `b${bytes.toString('base64')}`, bytes: bytes.length };
    }
  } catch (error) {
    throw unwritable(key, 'codec.encode threw, or returned bytes that cannot be read', error);
  }
  if (typeof encoded !== 'string') {
    throw unwritable(key, `expected codec.encode to return a string or bytes, got ${describe(encoded)}`);
  }
  if (!encoded.isWellFormed()) throw unwritable(key, 'codec.encode returned half a surrogate');
  return { payload: `s${encoded}`, bytes: Buffer.byteLength(encoded) };
}

function unwritable(key: string, why: string, cause?: unknown): OnceResultError {
  const message = `once ${quote(key)}: the result cannot be stored: ${why}; it is not run again`;
  return new OnceResultError(message, { lock: key, reason: 'encode', cause });
}

/** A fresh copy for each caller. Throws `OnceResultError` without an outcome. */
export function decodeResult<T>(key: string, payload: string, codec: OnceCodec<T> | undefined): T {
  try {
    return (codec === undefined ? decodeJson(payload) : codec.decode(bytesOf(payload))) as T;
  } catch (error) {
    const how = codec === undefined ? 'it was not stored as JSON' : 'codec.decode threw';
    const message = `once ${quote(key)}: a result is stored and cannot be read: ${how}`;
    throw new OnceResultError(message, { lock: key, reason: 'decode', cause: error });
  }
}

function decodeJson(payload: string): unknown {
  if (payload === 'u') return undefined;
  if (payload[0] !== 'j') throw new TypeError('the result was stored with a codec');
  return JSON.parse(payload.slice(1));
}

function bytesOf(payload: string): Uint8Array {
  const text = payload.slice(1);
  if (payload[0] === 's') return Buffer.from(text);
  if (payload[0] === 'b') return Buffer.from(text, 'base64');
  throw new TypeError('the result was stored without a codec');
}

/** What is kept of a thrown value. */
export function encodeFailure(error: unknown): string {
  // A thrown value may be a proxy or have getters that throw: what cannot be read is left out.
  const read = (field: string): unknown => {
    try {
      return typeof error === 'object' && error !== null ? Reflect.get(error, field) : undefined;
    } catch {
      return undefined;
    }
  };
  const name = read('name');
  const message = read('message');
  const code = read('code');
  return JSON.stringify({
    name: shortened(typeof name === 'string' ? name : 'Error', NAME_CHARACTERS_MAX),
    message: shortened(typeof message === 'string' ? message : described(error), FAILURE_CHARACTERS_MAX),
    ...(typeof code === 'string' ? { code: shortened(code, NAME_CHARACTERS_MAX) } : {}),
  });
}

function described(error: unknown): string {
  try {
    return describe(error);
  } catch {
    return 'a value that cannot be described';
  }
}

function shortened(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, max).toWellFormed();
}

/** Undefined where nothing was kept, or somebody else wrote the record. */
export function decodeFailure(payload: string): OriginalError | undefined {
  try {
    const found: unknown = JSON.parse(payload);
    if (typeof found !== 'object' || found === null) return undefined;
    const { name, message, code } = found as Partial<Record<string, unknown>>;
    if (typeof name !== 'string' || typeof message !== 'string') return undefined;
    return typeof code === 'string' ? { name, message, code } : { name, message };
  } catch {
    return undefined;
  }
}
