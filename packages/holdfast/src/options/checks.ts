/** The form of every complaint about what a caller has chosen: expected what, got what. */
import { LockConfigError } from '../errors.ts';
import { describe } from '../runtime/describe.ts';

/** `instead` names what is allowed besides, and was looked for before: `0 or `. */
export function integerWithin(value: unknown, name: string, min: number, max: number, instead = ''): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new LockConfigError(
      `expected ${name} to be ${instead}an integer from ${min} to ${max}, got ${describe(value)}`,
    );
  }
  return value;
}

export function finiteFromZero(value: unknown, name: string): number {
  if (typeof value === 'number' && value >= 0 && Number.isFinite(value)) return value;
  throw new LockConfigError(`expected ${name} to be a finite number of at least 0, got ${describe(value)}`);
}

export function nonEmptyString(value: unknown, name: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new LockConfigError(`expected ${name} to be a non-empty string, got ${describe(value)}`);
}

export function nonEmptyStrings(value: unknown, name: string): readonly string[] {
  if (Array.isArray(value)) return value.map((one) => nonEmptyString(one, `each of ${name}`));
  throw new LockConfigError(`expected ${name} to be an array of strings, got ${describe(value)}`);
}

export function textUpTo(value: unknown, name: string, lengthMax: number): string {
  const text = ofType(value, name, 'string');
  if (text.length <= lengthMax) return text;
  throw new LockConfigError(`expected ${name} of at most ${lengthMax} characters, got ${text.length}`);
}

export function ofType<Type extends 'boolean' | 'string'>(
  value: unknown,
  name: string,
  type: Type,
): Type extends 'boolean' ? boolean : string {
  // `typeof` has proved the type that the conditional names; the compiler cannot connect the two.
  if (typeof value === type) return value as Type extends 'boolean' ? boolean : string;
  throw new LockConfigError(`expected ${name} to be a ${type}, got ${describe(value)}`);
}

export function oneOf<Value extends string>(value: unknown, name: string, values: readonly Value[]): Value {
  const found = values.find((one) => one === value);
  if (found !== undefined) return found;
  const expected = values.map((one) => `'${one}'`).join(', ');
  throw new LockConfigError(`expected ${name} to be one of ${expected}, got ${describe(value)}`);
}

export function checkObject(options: unknown, what: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new LockConfigError(`expected ${what} to be an object, got ${describe(options)}`);
  }
}

export function checkKnown(options: object, known: ReadonlySet<string>, what: string): void {
  for (const key of Object.keys(options)) {
    if (known.has(key)) continue;
    throw new LockConfigError(`expected ${what} among ${[...known].join(', ')}, got ${describe(key)}`);
  }
}
