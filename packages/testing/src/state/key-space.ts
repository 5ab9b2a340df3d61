/** One database: keys with their values and their expiry. */
import { CommandError, WRONG_TYPE } from '../protocol/command-error.ts';

/** A sorted set is stored by member and sorted when a command needs the order: the sorted sets of locks are small. */
export type Value =
  | { readonly type: 'string'; bytes: string }
  | { readonly type: 'hash'; readonly fields: Map<string, string> }
  | { readonly type: 'list'; readonly items: string[] }
  | { readonly type: 'set'; readonly members: Set<string> }
  | { readonly type: 'zset'; readonly scores: Map<string, number> };

export type ValueType = Value['type'];
type ValueOf<Type extends ValueType> = Extract<Value, { type: Type }>;

export interface Entry {
  /** Grows with every key that is made. SCAN uses the id as its cursor. */
  readonly id: number;
  value: Value;
  /** Milliseconds since 1970 by the node's clock, or null for a key without an expiry. */
  expiresAtMs: number | null;
}

/** The time by which keys expire. It does not change while a command or a script runs. */
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

  /** The number of keys that have not expired. */
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

  /** The value of a key, undefined without such a key. Refuses a value of another type with WRONGTYPE. */
  find<Type extends ValueType>(key: string, type: Type): ValueOf<Type> | undefined {
    const entry = this.entry(key);
    if (entry === undefined) return undefined;
    if (entry.value.type !== type) throw new CommandError(WRONG_TYPE);
    // The line above has compared the discriminant, which the compiler cannot connect with the type parameter.
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
