/**
 * Reads the errors of GLIDE. It rewrites what the server says: for the words that it knows it has names of its own
 * behind a sentence, for all others it puts a colon after the word.
 */
import { isError } from '../connection/reply-errors.ts';

const NAMED = /^An error was signalled by the server: - (\w+): (.*)$/s;
const WORDED = /^([A-Z][A-Z0-9_]+): (.*)$/s;

const WORDS: Readonly<Record<string, string>> = {
  ResponseError: 'ERR',
  NoScriptError: 'NOSCRIPT',
  BusyLoadingError: 'LOADING',
  ExecAbortError: 'EXECABORT',
  PermissionDenied: 'NOPERM',
  ReadOnly: 'READONLY',
  MasterDown: 'MASTERDOWN',
  ClusterDown: 'CLUSTERDOWN',
  TryAgain: 'TRYAGAIN',
  CrossSlot: 'CROSSSLOT',
  NotBusy: 'NOTBUSY',
  Moved: 'MOVED',
  Ask: 'ASK',
};

/** The server's error reply as the server said it, or the same error when it is one of the client itself. */
export function glideReply(error: unknown): unknown {
  if (!isError(error)) return error;
  const [, name, named = ''] = NAMED.exec(error.message) ?? [];
  if (name !== undefined) return asReply(WORDS[name] ?? name.toUpperCase(), named, error);
  const [, word, text = ''] = WORDED.exec(error.message) ?? [];
  return word === undefined ? error : asReply(word, text, error);
}

function asReply(word: string, text: string, cause: Error): Error {
  // A reply of one word comes as an `ERR` with that word for its text.
  const isBareWord = word === 'ERR' && /^[A-Z][A-Z0-9_]+$/.test(text);
  return new Error(isBareWord ? text : `${word} ${text}`, { cause });
}
