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
      this.#report(offset, '', `valid JSON (${words(printParseErrorCode(error))})`, unreadable(found));
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

  /** A text of that form. One of another form is not repeated. */
  asMatching(form: RegExp, expected: string): string | null {
    const text = this.asString(expected);
    return text === null || form.test(text) ? text : this.refuse(expected, 'another text');
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
    if (this.#node.type !== 'array') return this.refuse(expected, this.#kind());
    return (this.#node.children ?? []).map(
      (node, index) => new JsonValue(this.#reader, node, `${this.path}[${index}]`),
    );
  }

  /** Every property; a name that stands twice is reported. */
  asProperties(expected: string): readonly JsonProperty[] | null {
    if (this.#node.type !== 'object') return this.refuse(expected, this.#kind());
    const seen = new Set<string>();
    const properties: JsonProperty[] = [];
    for (const { children = [] } of this.#node.children ?? []) {
      const [key, node] = children;
      if (key === undefined || node === undefined) continue;
      const name = String(key.value);
      const shown = hasAddress(name) ? AN_ADDRESS : name;
      const path = this.path === '' ? shown : `${this.path}.${shown}`;
      if (seen.has(name)) this.#reader.refuse(key, path, 'each name once', `"${shown}" a second time`);
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
      this.#reader.refuse(key, value.path, `one of ${known.join(', ')}`, quoted(`"${name}"`));
    }
    return new JsonFields(this, properties);
  }

  #found(): string {
    const { type, offset, length } = this.#node;
    return type === 'object' || type === 'array' ? this.#kind() : quoted(this.#reader.slice(offset, length));
  }

  /** Without its text: what stands where a list or an object is wanted may be a secret that belongs inside. */
  #kind(): string {
    return KINDS[this.#node.type] ?? 'another value';
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

const KINDS: Readonly<Record<string, string>> = {
  object: 'an object',
  array: 'a list',
  string: 'a text',
  number: 'a number',
};

/** An address is as secret as a password, wherever it stands. */
const AN_ADDRESS = 'an address';
const hasAddress = (text: string): boolean => text.includes('://');

/** Where the file is no JSON nobody knows what a text in it is: a secret without quotes, or the rest of one. */
function unreadable(text: string): string {
  return text.trim() === '' || /^[{}[\],:]$/.test(text) ? quoted(text) : 'another text';
}

function quoted(text: string): string {
  if (hasAddress(text)) return AN_ADDRESS;
  const shown = text.length > FOUND_LENGTH_MAX ? `${text.slice(0, FOUND_LENGTH_MAX)}…` : text;
  return shown.trim() === '' ? 'nothing' : shown.replace(/\s+/g, ' ');
}

/** `PropertyNameExpected` to `property name expected`. */
function words(code: string): string {
  return code.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
}
