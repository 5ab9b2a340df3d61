/**
 * What an error reply of Redis means for a lock, by its first word. The texts differ between servers and
 * versions; the words do not.
 */

/** The server cannot serve the call now, and may in a moment: restart, failover, memory, a long script, a moving slot. */
const PASSING_WORDS: ReadonlySet<string> = new Set([
  'LOADING',
  'READONLY',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'MOVED',
  'ASK',
  'BUSY',
  'OOM',
  'MISCONF',
  'NOREPLICAS',
  'UNKILLABLE',
]);

export function isPassingWord(word: string): boolean {
  return PASSING_WORDS.has(word);
}

/** To WAIT or WAITAOF, from a server that is a replica by then. */
const ON_A_REPLICA = /^ERR WAIT(AOF)? cannot be used with replica/i;

/**
 * The server has become a replica before or while it waited for its replicas (WAIT): whoever is the primary now may grant. Not
 * a word of those above: what was written before the wait may stand.
 */
export function hasSteppedDown({ word, text }: { readonly word: string; readonly text: string }): boolean {
  return word === 'UNBLOCKED' || ON_A_REPLICA.test(text);
}

/** Asking again will not help, and nothing was done: the server did not let us try. */
const REFUSING_WORDS: ReadonlySet<string> = new Set([
  'NOAUTH',
  'WRONGPASS',
  'NOPERM',
  'NOSCRIPT',
  'CROSSSLOT',
]);

/** Whether the server itself says that nothing was done. Any other word may come from something in between. */
export function isCertainWord(word: string): boolean {
  return PASSING_WORDS.has(word) || REFUSING_WORDS.has(word);
}

/** The key holds something of another type: nothing was written. */
export function isConflictWord(word: string): boolean {
  return word === 'WRONGTYPE';
}
