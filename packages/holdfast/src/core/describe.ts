/** What was got, for messages of the form "expected what, got what". Short, and never a whole document. */
export function describe(value: unknown): string {
  if (typeof value === 'string')
    return value.length > 64 ? `${JSON.stringify(value.slice(0, 64))}…` : JSON.stringify(value);
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null)
    return `an object of ${value.constructor?.name ?? 'no class'}`;
  if (typeof value === 'bigint') return `the bigint ${value}`;
  return String(value);
}
