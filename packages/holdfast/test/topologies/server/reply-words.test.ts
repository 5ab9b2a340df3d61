import { describe, expect, test } from 'vitest';
import { isConflictWord, isPassingWord } from '../../../src/topologies/server/reply-words.ts';

type Meaning = 'passes' | 'is a conflict' | 'stays';

/** What the first word of an error reply means for somebody who wants a lock. */
const WORDS: readonly (readonly [word: string, meaning: Meaning])[] = [
  ['LOADING', 'passes'],
  ['READONLY', 'passes'],
  ['MASTERDOWN', 'passes'],
  ['CLUSTERDOWN', 'passes'],
  ['TRYAGAIN', 'passes'],
  ['MOVED', 'passes'],
  ['ASK', 'passes'],
  ['BUSY', 'passes'],
  ['OOM', 'passes'],
  ['MISCONF', 'passes'],
  ['NOREPLICAS', 'passes'],
  ['UNKILLABLE', 'passes'],
  ['WRONGTYPE', 'is a conflict'],
  ['ERR', 'stays'],
  ['NOPERM', 'stays'],
  ['NOAUTH', 'stays'],
  ['WRONGPASS', 'stays'],
  ['NOSCRIPT', 'stays'],
  ['CROSSSLOT', 'stays'],
  ['EXECABORT', 'stays'],
  ['', 'stays'],
];

describe('the first word of an error reply', () => {
  test.each(WORDS)('%s %s', (word, meaning) => {
    expect([isPassingWord(word), isConflictWord(word)]).toEqual([
      meaning === 'passes',
      meaning === 'is a conflict',
    ]);
  });
});
