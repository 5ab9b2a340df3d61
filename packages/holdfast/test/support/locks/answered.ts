/** Short waits whose end is looked at, on a machine that may stand still while they end. */
import { LockUnavailableError, LockUnknownError } from '../../../src/index.ts';
import { rejection } from '../rejection.ts';

const TRIES_MAX = 5;

/** Every server said something, be it no. */
function isSaid(error: unknown): boolean {
  if (error instanceof LockUnknownError) return false;
  if (!(error instanceof LockUnavailableError)) return true;
  return error.servers.every(({ kind }) => kind !== 'unreachable' && kind !== 'unknown');
}

/**
 * The rejection of a wait whose last attempt was answered. That attempt has 250 ms, in which a busy machine may stand
 * still: the wait then ends as unknown, or without a connection, rightly, and is repeated.
 */
export async function answered(
  acquire: () => Promise<unknown>,
  isAnswer: (error: unknown) => boolean = isSaid,
): Promise<unknown> {
  for (let tries = 1; ; tries += 1) {
    const error = await rejection(acquire());
    if (isAnswer(error) || tries === TRIES_MAX) return error;
  }
}
