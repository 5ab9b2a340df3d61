/** Patterns of names: `*` stands for any text, every other character for itself. */

/** Whether a key begins with the prefix and the rest fits one of the patterns; `null` without patterns. */
export function matcherOf(patterns: readonly string[], prefix: string): ((key: string) => boolean) | null {
  if (patterns.length === 0) return null;
  const tests = patterns.map(
    (pattern) => new RegExp(`^${pattern.split('*').map(escapeRegExp).join('.*')}$`, 's'),
  );
  return (key) => key.startsWith(prefix) && tests.some((test) => test.test(key.slice(prefix.length)));
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
