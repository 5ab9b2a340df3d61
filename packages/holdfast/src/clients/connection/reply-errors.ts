/**
 * The one place where the errors of Redis clients are classified: an error reply of the server, or trouble of the client
 * itself. They are told apart by their text, because no client's classes can be imported here.
 */
import { types } from 'node:util';
import { CallFailure, type CallFailureKind } from '../client.ts';

/**
 * Also for an error of another realm. Jest runs tests, and us with them, in a context that has an `Error` of its own,
 * and the errors of Node come from outside of it.
 */
export function isError(error: unknown): error is Error {
  return error instanceof Error || types.isNativeError(error);
}

/** The errors that an error is made of: itself, or those that an `AggregateError` gathers. */
export function causesOf(error: unknown): readonly unknown[] {
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

/** A call that ended in this error: with the server's error reply, or else as a failure of this kind. */
export function failureOf(error: unknown, kind: CallFailureKind): CallFailure {
  const word = replyWord(error);
  return new CallFailure(word === null ? kind : 'reply', reasonOf(error), word ?? '', error);
}

/** What a foreign client threw, against the rules of the seam, as a failure of this kind; a failure stays what it is. */
export function thrownFailure(error: unknown, kind: CallFailureKind): CallFailure {
  if (error instanceof CallFailure) return error;
  return new CallFailure(kind, `the client threw: ${reasonOf(error)}`, '', error);
}

/** How deep errors that gather errors are read: a foreign client may throw two that contain each other. */
const DEPTH_MAX = 3;

/** The message of an error, in one line. Never throws: a foreign client may throw what cannot be made a string. */
export function reasonOf(error: unknown): string {
  try {
    return messageOf(error, 0);
  } catch {
    return 'an error that cannot be read';
  }
}

function messageOf(error: unknown, depth: number): string {
  if (!isError(error)) return String(error);
  if (error.message !== '') return error.message;
  // A host name with several addresses that all refuse: the messages are inside, the outer one is empty.
  const causes = depth < DEPTH_MAX ? causesOf(error).filter((cause) => cause !== error) : [];
  return causes.length > 0 ? causes.map((cause) => messageOf(cause, depth + 1)).join('; ') : error.name;
}

/**
 * For a command that is a courtesy, such as naming the connection: a user without the right to it, or a proxy that
 * does not know it, does without. Any other error is about the connection, and is thrown again.
 */
export function ignoreRefusal(error: unknown): void {
  const word = replyWord(error);
  if (word !== 'NOPERM' && word !== 'ERR') throw error;
}
