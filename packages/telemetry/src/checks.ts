/** Checks of what callers pass. The code behind trusts the types. */
import { LockConfigError, quote } from 'holdfast';

function described(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : typeof value;
}

export function checkObject(value: unknown, what: string): asserts value is object {
  // A module that was required is an object, and so is one that was imported.
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw new LockConfigError(`expected ${what} to be an object, got ${described(value)}`);
}

export function checkKnown(options: object, known: ReadonlySet<string>, of: string): void {
  for (const name of Object.keys(options)) {
    if (known.has(name)) continue;
    const expected = [...known].join(', ');
    throw new LockConfigError(`expected an option of ${of} (${expected}), got ${quote(name)}`);
  }
}

export function checkFlag(value: unknown, name: string, byDefault: boolean): boolean {
  if (value === undefined) return byDefault;
  if (typeof value === 'boolean') return value;
  throw new LockConfigError(`expected ${name} to be a boolean, got ${described(value)}`);
}

export function checkMethods(value: unknown, methods: readonly string[], what: string): void {
  for (const method of methods) {
    const got = typeof value === 'object' && value !== null ? Reflect.get(value, method) : undefined;
    if (typeof got === 'function') continue;
    throw new LockConfigError(`expected ${what} to have a method ${method}, got ${described(got ?? value)}`);
  }
}
