/** Checks of what the public methods are given, with messages of the form "expected what, got what". */
import { inspect } from 'node:util';

const TEXT_LENGTH_MAX = 64;

/** The value for a message: short, and without what an object contains. */
export function describe(value: unknown): string {
  return inspect(value, { depth: -1, maxStringLength: TEXT_LENGTH_MAX });
}

/** For the time that a test lets pass. */
export function assertDuration(ms: number): void {
  if (ms >= 0 && Number.isFinite(ms)) return;
  throw new TypeError(`expected ms to be a number of at least 0, got ${describe(ms)}`);
}
