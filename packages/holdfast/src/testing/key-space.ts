/** One database: keys, what they hold, and when they expire. */
import { CommandError, WRONG_TYPE } from './command-error.ts';

/** A sorted set is kept by member and sorted when somebody asks for an order: the sets of a lock are small. */
export type Value =
  | { readonly type: 'string'; bytes: string }
  | { readonly type: 'hash'; readonly fields: Map<string, string> }
  | { readonly type: 'list'; readonly items: string[] }
  | { readonly type: 'set'; readonly members: Set<string> }
  | { readonly type: 'zset'; readonly scores: Map<string, number> };

export type ValueType = Value['type'];
type ValueOf<Type extends ValueType> = Extract<Value, { type: Type }>;

export interface Entry {
  /** Grows with every key that is made, so that a SCAN can go on where it was. */
  readonly id: number;
  value: Value;
  /** Milliseconds since 1970 by the node's clock, or null for a key that stays. */
  expiresAtMs: number | null;
}

/** The time by which keys expire: it stands still while a command or a script runs. */
export interface Moment {
  readonly nowMs: number;
}

export class KeySpace {
  readonly #moment: Moment;
  readonly #entries = new Map<string, Entry>();
  #made = 0;

  constructor(moment: Moment) {
    this.#moment = moment;
  }

  /** How many keys there are that have not expired. */
  get size(): number {
    for (const key of [...this.#entries.keys()]) this.entry(key);
    return this.#entries.size;
  }

  entry(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expiresAtMs === null || this.#moment.nowMs <= entry.expiresAtMs) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  /** Keys with their entries, oldest first. */
  *entries(): Generator<readonly [key: string, entry: Entry]> {
    for (const key of [...this.#entries.keys()]) {
      const entry = this.entry(key);
      if (entry !== undefined) yield [key, entry];
    }
  }

  /** What the key holds if it is of that type, nothing if there is no key; anything else is refused. */
  find<Type extends ValueType>(key: string, type: Type): ValueOf<Type> | undefined {
    const entry = this.entry(key);
    if (entry === undefined) return undefined;
    if (entry.value.type !== type) throw new CommandError(WRONG_TYPE);
    // The line above has compared the discriminant; the compiler cannot connect it with the type parameter.
    return entry.value as ValueOf<Type>;
  }

  /** Puts a value under a key, in place of whatever was there. */
  put(key: string, value: Value, expiresAtMs: number | null = null): void {
    const entry = this.entry(key);
    if (entry === undefined) {
      this.#made += 1;
      this.#entries.set(key, { id: this.#made, value, expiresAtMs });
    } else {
      entry.value = value;
      entry.expiresAtMs = expiresAtMs;
    }
  }

  delete(key: string): boolean {
    return this.entry(key) !== undefined && this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}
