/**
 * A value that must not be shown: the URL of a chat, a password. It prints as `[secret]` wherever it is logged, turned
 * into JSON or inspected; only `reveal()` gives the value.
 */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';

const SHOWN = '[secret]';

/** A shorter text is no secret, and hiding each `a` of a message would leave nothing of it. */
const HIDDEN_LENGTH_MIN = 4;

/** A shorter word of an address or a header is an ordinary one, such as `services`; tokens are longer. */
const PART_LENGTH_MIN = 12;

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return SHOWN;
  }

  toJSON(): string {
    return SHOWN;
  }

  static {
    // Defined here and not as a method: the declarations of a package cannot name a method by an expression.
    Object.defineProperty(this.prototype, inspect.custom, { value: () => SHOWN });
  }
}

/** Where the configuration says that a secret is. */
export type SecretSource =
  | { readonly from: 'value'; readonly value: string }
  | { readonly from: 'env'; readonly name: string }
  | { readonly from: 'file'; readonly path: string };

/** Reads variables and files; a test has its own. */
export interface SecretReader {
  env(name: string): string | undefined;
  file(path: string): string;
}

export const systemSecrets: SecretReader = {
  env: (name) => process.env[name],
  file: (path) => readFileSync(path, 'utf8'),
};

/** The secret, or a string that says why it cannot be had. */
export function readSecret(source: SecretSource, reader: SecretReader): Secret | string {
  if (source.from === 'value')
    return source.value === '' ? 'a text that is not empty' : new Secret(source.value);
  if (source.from === 'env') {
    const value = reader.env(source.name);
    return value === undefined || value === ''
      ? `the variable ${source.name} to be set, and it is not`
      : new Secret(value);
  }
  try {
    const value = reader.file(source.path).trim();
    return value === '' ? `a value in the file ${source.path}, and it is empty` : new Secret(value);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return `a file ${source.path} that can be read (${code})`;
  }
}

/** Takes every secret out of a text, also as a URL or a header would spell it, and the part of one that is secret by itself. */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  const hidden = secrets
    .flatMap((secret) => partsOf(secret.reveal()))
    .flatMap((part) => [part, encodeURIComponent(part), encodeURI(part)])
    .filter((part) => part.length >= HIDDEN_LENGTH_MIN);
  // The longest first: a part of one may be the beginning of another.
  hidden.sort((a, b) => b.length - a.length);
  return hidden.reduce((shown, part) => shown.replaceAll(part, SHOWN), text);
}

/** Receivers repeat the path that they were asked for, or a token alone. A host is no secret: errors have to say it. */
function partsOf(value: string): string[] {
  const isLong = (part: string): boolean => part.length >= PART_LENGTH_MIN;
  if (!URL.canParse(value)) return [value, ...value.split(/\s+/).filter(isLong)];
  const { pathname, search, searchParams, username, password } = new URL(value);
  const within = [username, ...pathname.split('/'), ...searchParams.values()].map(decoded);
  return [value, pathname + search, pathname, decoded(password), ...within.filter(isLong)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
