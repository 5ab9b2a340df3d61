/**
 * Reads the errors of GLIDE, which rewrites the error replies of the server: words that GLIDE knows become names of its
 * own behind a sentence, and all others get a colon.
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

/** The error reply as the server said it, or the same error when it is one of GLIDE itself. */
export function glideReply(error: unknown): unknown {
  if (!isError(error)) return error;
  const [, name, named = ''] = NAMED.exec(error.message) ?? [];
  if (name !== undefined) return asReply(WORDS[name] ?? name.toUpperCase(), named, error);
  const [, word, text = ''] = WORDED.exec(error.message) ?? [];
  return word === undefined ? error : asReply(word, text, error);
}

function asReply(word: string, text: string, cause: Error): Error {
  // GLIDE turns a reply of a single word into an `ERR` with that word for its text.
  const isBareWord = word === 'ERR' && /^[A-Z][A-Z0-9_]+$/.test(text);
  return new Error(isBareWord ? text : `${word} ${text}`, { cause });
}
