/** Patterns of names: `*` stands for any text, every other character for itself. */

/** Whether a key begins with the prefix and the rest fits one of the patterns; `null` without patterns. */
export function matcherOf(patterns: readonly string[], prefix: string): ((key: string) => boolean) | null {
  if (patterns.length === 0) return null;
  const fitters = patterns.map(fitterOf);
  return (key) => {
    if (!key.startsWith(prefix)) return false;
    const name = key.slice(prefix.length);
    return fitters.some((fits) => fits(name));
  };
}

/**
 * The pieces between the stars are looked for one after the other, each where it comes first: in one pass. A regular expression
 * would try all ways to share the name among the stars, and anybody may have chosen the name. holdfast-telemetry has the
 * same lines: neither package needs the other.
 */
function fitterOf(pattern: string): (name: string) => boolean {
  const [first = '', ...pieces] = pattern.split('*');
  const last = pieces.pop();
  if (last === undefined) return (name) => name === first;
  return (name) => {
    if (!name.startsWith(first) || !name.endsWith(last)) return false;
    let at = first.length;
    for (const piece of pieces) {
      const found = name.indexOf(piece, at);
      if (found < 0) return false;
      at = found + piece.length;
    }
    return at + last.length <= name.length;
  };
}
