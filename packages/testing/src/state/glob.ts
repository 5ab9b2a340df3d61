/** The patterns of KEYS, SCAN, PSUBSCRIBE and PUBSUB CHANNELS: `*`, `?`, `[a-c]`, `[^a]` and `\` before any of them. */

/** Whether the bytes match the whole pattern. */
export function matchesGlob(pattern: string, bytes: string): boolean {
  return matchesFrom(pattern, 0, bytes, 0);
}

function matchesFrom(pattern: string, patternStart: number, bytes: string, bytesStart: number): boolean {
  let at = bytesStart;
  let p = patternStart;
  while (p < pattern.length) {
    const char = pattern[p];
    if (char === '*') {
      while (pattern[p + 1] === '*') p += 1;
      if (p + 1 === pattern.length) return true;
      for (let from = at; from <= bytes.length; from += 1) {
        if (matchesFrom(pattern, p + 1, bytes, from)) return true;
      }
      return false;
    }
    if (at >= bytes.length) return false;
    if (char === '[') {
      const set = readSet(pattern, p, bytes.charCodeAt(at));
      if (!set.isMatch) return false;
      p = set.end;
    } else {
      const isEscape = char === '\\' && p + 1 < pattern.length;
      if (isEscape) p += 1;
      if ((isEscape || char !== '?') && pattern[p] !== bytes[at]) return false;
      p += 1;
    }
    at += 1;
  }
  return at === bytes.length;
}

/** Matches one byte against a set such as `[a-c]`. Without a closing bracket the set ends with the pattern. */
function readSet(pattern: string, start: number, code: number): { isMatch: boolean; end: number } {
  let p = start + 1;
  const isNegated = pattern[p] === '^';
  if (isNegated) p += 1;
  let isFound = false;
  while (p < pattern.length && pattern[p] !== ']') {
    if (pattern[p] === '\\' && p + 1 < pattern.length) {
      p += 1;
      isFound ||= pattern.charCodeAt(p) === code;
      p += 1;
    } else if (pattern[p + 1] === '-' && p + 2 < pattern.length) {
      const ends = [pattern.charCodeAt(p), pattern.charCodeAt(p + 2)];
      isFound ||= code >= Math.min(...ends) && code <= Math.max(...ends);
      p += 3;
    } else {
      isFound ||= pattern.charCodeAt(p) === code;
      p += 1;
    }
  }
  return { isMatch: isFound !== isNegated, end: Math.min(p + 1, pattern.length) };
}
