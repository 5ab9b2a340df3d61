/** What callers hand in, checked before any statement is sent: expected what, got what. */
import { shown } from './errors.ts';

/** How many bytes the columns for resources and keys have room for, on every database. */
const TEXT_BYTES_MAX = 1024;
const PRINT_BYTES_MAX = 128;

export function described(value: unknown): string {
  if (typeof value === 'string') return shown(value);
  if (value === null || ['undefined', 'number', 'boolean', 'bigint'].includes(typeof value))
    return String(value);
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
}

/**
 * Texts are compared byte by byte. A NUL is refused by PostgreSQL, a lone surrogate would be replaced on the way to the
 * database, and what is too long would be cut by MySQL without strict mode: each could merge two names into one.
 */
function checkText(what: string, value: unknown, bytesMin: number, bytesMax: number): string {
  const expected = `expected ${what} to be a string of ${bytesMin} to ${bytesMax} bytes`;
  if (typeof value !== 'string') throw new TypeError(`${expected}, got ${described(value)}`);
  const bytes = Buffer.byteLength(value);
  if (bytes < bytesMin || bytes > bytesMax) throw new RangeError(`${expected}, got ${bytes} bytes`);
  if (value.includes('\0')) throw new TypeError(`${expected} without NUL, got ${shown(value)}`);
  if (Buffer.from(value).toString() !== value)
    throw new TypeError(`${expected} of well-formed Unicode, got ${shown(value)}`);
  return value;
}

export const checkKey = (value: unknown): string => checkText('the key', value, 1, TEXT_BYTES_MAX);
export const checkResource = (value: unknown): string => checkText('the resource', value, 1, TEXT_BYTES_MAX);
export const checkPrint = (value: unknown): string => checkText('the fingerprint', value, 1, PRINT_BYTES_MAX);

export function checkInteger(what: string, value: unknown, min: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min) return value;
  throw new RangeError(`expected ${what} to be an integer of at least ${min}, got ${described(value)}`);
}

export function checkFenceNumber(value: unknown): number {
  if (value === undefined)
    throw new TypeError('expected a fence, got none: a mutex has no fence, use a lock instead');
  return checkInteger('the fence', value, 1);
}

/** An option that nobody reads would be believed all the same: an isolation, a fingerprint, the name of a table. */
export function checkOptions(what: string, value: unknown, known: readonly string[]): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError(`expected ${what} to be an object, got ${described(value)}`);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new TypeError(`expected ${what} among ${known.join(', ')}, got ${described(unknown)}`);
}

export function checkFunction(what: string, value: unknown): void {
  if (typeof value !== 'function') throw new TypeError(`expected ${what}, got ${described(value)}`);
}
