/** Reads the errors of clients. They are told apart by their text: no client's classes can be imported here. */
import { types } from 'node:util';
import { CallFailure } from '../client.ts';

/**
 * Also of another realm. Jest runs tests, and us with them, in a context that has an `Error` of its own, and the errors
 * of Node come from outside of it.
 */
export function isError(error: unknown): error is Error {
  return error instanceof Error || types.isNativeError(error);
}

/** Those that an error is made of: itself, or what it gathers. */
export function reasonsIn(error: unknown): readonly unknown[] {
  return isError(error) && 'errors' in error && Array.isArray(error.errors) ? error.errors : [error];
}

/** An error reply begins with a word in capitals: `NOSCRIPT No matching script.` */
const REPLY_WORD = /^[A-Z][A-Z0-9_]+(?= |$)/;

/**
 * The first word of an error reply, or null for an error of the client itself.
 *
 * Not by class name: bundlers rename classes. The clients' own messages begin in lower case or like a sentence,
 * and errors of the system and of TLS have a `code`, which no reply has.
 */
export function replyWord(error: unknown): string | null {
  if (!isError(error) || 'code' in error) return null;
  return REPLY_WORD.exec(error.message)?.[0] ?? null;
}

export function replyFailure(error: unknown, word: string): CallFailure {
  return new CallFailure('reply', reasonOf(error), word, error);
}

/** Errors that gather errors go this deep at most: a client of the caller's own may throw two that hold each other. */
const DEPTH_MAX = 3;

/** What an error says, in one line. It never throws: a client of the caller's own may throw what has no words. */
export function reasonOf(error: unknown): string {
  try {
    return wordsOf(error, 0);
  } catch {
    return 'an error that cannot be read';
  }
}

function wordsOf(error: unknown, depth: number): string {
  if (!isError(error)) return String(error);
  if (error.message !== '') return error.message;
  // A name with several addresses that all refuse: the reasons are inside, the outer message is empty.
  const reasons = depth < DEPTH_MAX ? reasonsIn(error).filter((reason) => reason !== error) : [];
  return reasons.length > 0 ? reasons.map((reason) => wordsOf(reason, depth + 1)).join('; ') : error.name;
}

/**
 * For a command that is a courtesy, such as naming the connection: a user without the right to it, or a proxy that
 * does not know it, does without. Anything else it says is about the connection.
 */
export function ignoreRefusal(error: unknown): void {
  const word = replyWord(error);
  if (word !== 'NOPERM' && word !== 'ERR') throw error;
}
