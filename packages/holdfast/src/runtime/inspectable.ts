/** What `console.log` and `util.inspect` show of our handles: their fields are private, so they would be `{}`. */
import { printable } from './printable.ts';

/** Node's, and understood by Bun and Deno; by its registered name, so that nothing is imported. */
const INSPECT: symbol = Symbol.for('nodejs.util.inspect.custom');

export type Facts = Readonly<Record<string, string | number | undefined>>;

/** `util.inspect`, as it hands itself over. */
type Inspect = (value: object, options: object) => string;

/**
 * Instances of the class are shown as `Name { fact: 1, … }`, in the depth and the colours that were asked for. Facts that
 * are undefined are left out. `factsOf` answers null for what only inherits from the class, as its prototype does.
 *
 * Called by the class itself: only it can read its private fields, and its type does not tell of this.
 */
export function inspectable<Instance extends object>(
  ofClass: { readonly prototype: Instance },
  name: string,
  factsOf: (instance: Instance) => Facts | null,
): void {
  function show(this: Instance, depth: number, options: object, inspect: Inspect): string {
    const facts = depth < 0 ? null : factsOf(this);
    if (facts === null) return `[${name}]`;
    const known = Object.entries(facts).filter(([, value]) => value !== undefined);
    const shown = known.map(([title, value]) => [
      title,
      typeof value === 'string' ? printable(value) : value,
    ]);
    return `${name} ${inspect(Object.fromEntries(shown), options)}`;
  }
  Object.defineProperty(ofClass.prototype, INSPECT, { value: show });
}
