/** Numbers as Redis reads and writes them. */
import { CommandError, NOT_A_FLOAT, NOT_AN_INTEGER } from './command-error.ts';

const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/;
const FLOAT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const INFINITY = /^[+-]?inf(?:inity)?$/i;
const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);
const SIGNIFICANT_DIGITS = 17;

export function isInt64(value: bigint): boolean {
  return value >= INT64_MIN && value <= INT64_MAX;
}

/** The 64-bit integer that the bytes spell in the only form that Redis accepts, or null. */
function parseBigInteger(bytes: string): bigint | null {
  if (!INTEGER.test(bytes)) return null;
  const value = BigInt(bytes);
  return isInt64(value) ? value : null;
}

export function bigIntegerOf(bytes: string, refusal: string = NOT_AN_INTEGER): bigint {
  const value = parseBigInteger(bytes);
  if (value === null) throw new CommandError(refusal);
  return value;
}

/** An integer for counts, indexes and times: exact up to 2^53, which is 285,000 years in milliseconds. */
export function integerOf(bytes: string, refusal: string = NOT_AN_INTEGER): number {
  return Number(bigIntegerOf(bytes, refusal));
}

/** A 64-bit integer as a reply: a `number` while that is exact, otherwise a `bigint`. */
export function integerReply(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

export function floatOf(bytes: string, refusal: string = NOT_A_FLOAT): number {
  if (INFINITY.test(bytes))
    return bytes.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (!FLOAT.test(bytes)) throw new CommandError(refusal);
  return Number(bytes);
}

/** C's `%.17g`: how Redis writes scores, and the numbers that a script passes to a command. */
export function formatFloat(value: number): string {
  if (Number.isSafeInteger(value)) return Object.is(value, -0) ? '-0' : String(value);
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const [mantissa = '', power = ''] = value.toExponential(SIGNIFICANT_DIGITS - 1).split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < SIGNIFICANT_DIGITS) {
    return trimZeros(value.toFixed(Math.min(100, SIGNIFICANT_DIGITS - 1 - exponent)));
  }
  const sign = exponent < 0 ? '-' : '+';
  return `${trimZeros(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function trimZeros(digits: string): string {
  return digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits;
}
