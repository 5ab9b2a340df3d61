import { inspect } from 'node:util';
import { printable, quote } from './printable.ts';

/** Enough to recognise a value by. */
const LENGTH_MAX = 64;

/** What was got, for messages of the form "expected what, got what". Short, and never a whole document. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return quote(value, LENGTH_MAX);
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return `an object of ${classNameOf(value)}`;
  if (typeof value === 'bigint') return `the bigint ${value}`;
  return String(value);
}

function classNameOf(value: object): string {
  const name: unknown = value.constructor?.name;
  return typeof name === 'string' ? printable(name, LENGTH_MAX) : 'no class';
}

/** A reply that makes no sense. A client of the caller's own making may give what JSON cannot write. */
export function describeReply(reply: unknown): string {
  try {
    const json = JSON.stringify(reply, (_, value: unknown) =>
      typeof value === 'bigint' ? `${value}n` : value,
    );
    return printable(json ?? String(reply));
  } catch {
    return printable(inspect(reply, { breakLength: Number.POSITIVE_INFINITY }));
  }
}
