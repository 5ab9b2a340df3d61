/**
 * Reads JSON with comments and keeps where each value stands, so that a mistake is reported as line, what was expected
 * and what was found. A reader collects all mistakes instead of stopping at the first.
 */
import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';

export interface ConfigIssue {
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  /** `rules.memory-high.above`; empty for the whole file. */
  readonly path: string;
  readonly expected: string;
  readonly found: string;
}

/** Longer values are cut in messages. */
const FOUND_LENGTH_MAX = 60;

export function formatIssue({ line, column, path, expected, found }: ConfigIssue): string {
  const where = path === '' ? '' : `${path}: `;
  return `line ${line}, column ${column}: ${where}expected ${expected}, found ${found}`;
}

export class JsonReader {
  readonly #text: string;
  readonly #issues: ConfigIssue[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  get issues(): readonly ConfigIssue[] {
    return this.#issues;
  }

  /** Null when the text is no JSON at all; then there is an issue. */
  root(): JsonValue | null {
    const errors: ParseError[] = [];
    const node = parseTree(this.#text, errors, { allowTrailingComma: true, disallowComments: false });
    for (const { error, offset, length } of errors) {
      const found = this.#text.slice(offset, offset + Math.max(1, length));
      this.#report(offset, '', `valid JSON (${words(printParseErrorCode(error))})`, quoted(found));
    }
    return node === undefined || errors.length > 0 ? null : new JsonValue(this, node, '');
  }

  refuse(node: Node, path: string, expected: string, found: string): void {
    this.#report(node.offset, path, expected, found);
  }

  slice(offset: number, length: number): string {
    return this.#text.slice(offset, offset + length);
  }

  #report(offset: number, path: string, expected: string, found: string): void {
    const before = this.#text.slice(0, offset);
    const line = before.split('\n').length;
    const column = offset - before.lastIndexOf('\n');
    this.#issues.push({ line, column, path, expected, found });
  }
}

export interface JsonProperty {
  readonly name: string;
  readonly value: JsonValue;
}

/** One value of the file. Each `as…` returns null when the value is something else, and reports it. */
export class JsonValue {
  readonly #reader: JsonReader;
  readonly #node: Node;
  readonly path: string;

  constructor(reader: JsonReader, node: Node, path: string) {
    this.#reader = reader;
    this.#node = node;
    this.path = path;
  }

  get isString(): boolean {
    return this.#node.type === 'string';
  }

  /** For a value that must be hidden, `found` names its type instead. */
  refuse(expected: string, found: string = this.#found()): null {
    this.#reader.refuse(this.#node, this.path, expected, found);
    return null;
  }

  asString(expected: string): string | null {
    return this.#node.type === 'string' ? String(this.#node.value) : this.refuse(expected);
  }

  asBoolean(): boolean | null {
    return this.#node.type === 'boolean' ? this.#node.value === true : this.refuse('true or false');
  }

  asInteger(min: number, max: number): number | null {
    const value: unknown = this.#node.value;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    return this.refuse(`an integer of ${min} to ${max}`);
  }

  /** Text that `parse` understands. */
  asParsed(parse: (text: string) => number | null, expected: string): number | null {
    const parsed = this.#node.type === 'string' ? parse(String(this.#node.value)) : null;
    return parsed ?? this.refuse(expected);
  }

  asOneOf<T extends string>(choices: readonly T[]): T | null {
    const found = choices.find((choice) => choice === this.#node.value);
    return found ?? this.refuse(`one of ${choices.join(', ')}`);
  }

  asList(expected: string): readonly JsonValue[] | null {
    if (this.#node.type !== 'array') return this.refuse(expected);
    return (this.#node.children ?? []).map(
      (node, index) => new JsonValue(this.#reader, node, `${this.path}[${index}]`),
    );
  }

  /** Every property; a name that stands twice is reported. */
  asProperties(expected: string): readonly JsonProperty[] | null {
    if (this.#node.type !== 'object') return this.refuse(expected);
    const seen = new Set<string>();
    const properties: JsonProperty[] = [];
    for (const { children = [] } of this.#node.children ?? []) {
      const [key, node] = children;
      if (key === undefined || node === undefined) continue;
      const name = String(key.value);
      const path = this.path === '' ? name : `${this.path}.${name}`;
      if (seen.has(name)) this.#reader.refuse(key, path, 'each name once', `"${name}" a second time`);
      seen.add(name);
      properties.push({ name, value: new JsonValue(this.#reader, node, path) });
    }
    return properties;
  }

  /** An object that has no other fields than these; unknown ones are reported, each where it stands. */
  asFields(known: readonly string[], expected = 'an object'): JsonFields | null {
    const properties = this.asProperties(expected);
    if (properties === null) return null;
    for (const { name, value } of properties) {
      if (known.includes(name)) continue;
      const key = findNodeAtLocation(this.#node, [name])?.parent?.children?.[0] ?? this.#node;
      this.#reader.refuse(key, value.path, `one of ${known.join(', ')}`, `"${name}"`);
    }
    return new JsonFields(this, properties);
  }

  #found(): string {
    const { type, offset, length } = this.#node;
    if (type === 'object' || type === 'array') return type === 'array' ? 'a list' : 'an object';
    return quoted(this.#reader.slice(offset, length));
  }
}

/** The fields of one object. */
export class JsonFields {
  readonly #owner: JsonValue;
  readonly #properties: readonly JsonProperty[];

  constructor(owner: JsonValue, properties: readonly JsonProperty[]) {
    this.#owner = owner;
    this.#properties = properties;
  }

  get(name: string): JsonValue | undefined {
    return this.#properties.find((property) => property.name === name)?.value;
  }

  /** Reports its absence. */
  require(name: string, expected: string): JsonValue | null {
    return this.get(name) ?? this.#owner.refuse(`a field "${name}": ${expected}`, 'no such field');
  }

  /** What `read` makes of the field, or the default when the field is not there or wrong. */
  read<T>(name: string, read: (value: JsonValue) => T | null, otherwise: T): T {
    const value = this.get(name);
    return value === undefined ? otherwise : (read(value) ?? otherwise);
  }
}

function quoted(text: string): string {
  const shown = text.length > FOUND_LENGTH_MAX ? `${text.slice(0, FOUND_LENGTH_MAX)}…` : text;
  return shown.trim() === '' ? 'nothing' : shown.replace(/\s+/g, ' ');
}

/** `PropertyNameExpected` to `property name expected`. */
function words(code: string): string {
  return code.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
}
