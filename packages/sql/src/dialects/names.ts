/**
 * Names of tables and columns, quoted as each database wants them. They are taken as written: quoting keeps the case.
 *
 * In this folder: what differs between databases: names, tables and error codes. Only the entries (`index.ts`,
 * `sync.ts`, `verbs.ts`, `verbs-sync.ts`) and `verbs/` import from here.
 */
import { described } from '../checks.ts';
import type { Dialect } from '../connections/connection.ts';

/** The tables of this package, where they are not called `holdfast_fence` and `holdfast_key`. */
export interface TableNames {
  readonly fences?: string;
  readonly keys?: string;
}

export interface Tables {
  readonly fences: string;
  readonly keys: string;
  /** The table of keys without its schema. */
  readonly keysAlone: string;
  /** The index over the ages of keys. SQLite alone puts the schema before the index, not before the table. */
  readonly keysByAge: string;
}

/** A letter or an underscore first, so that a name is a name in every dialect; 63 characters are PostgreSQL's limit. */
const NAME = /^[\p{L}_][\p{L}\p{N}_$ -]{0,62}$/u;

function quotedPart(dialect: Dialect, part: string): string {
  return dialect === 'mysql' ? `\`${part}\`` : `"${part}"`;
}

/** A table or a column. A dot separates a schema from a table. */
export function quoted(dialect: Dialect, what: string, name: unknown): string {
  const parts = typeof name === 'string' ? name.split('.') : [];
  if (parts.length === 0 || parts.length > 2 || !parts.every((part) => NAME.test(part)))
    throw new TypeError(`expected ${what} to be a name, or a schema and a name, got ${described(name)}`);
  return parts.map((part) => quotedPart(dialect, part)).join('.');
}

export function tablesOf(
  dialect: Dialect,
  { fences = 'holdfast_fence', keys = 'holdfast_key' }: TableNames = {},
): Tables {
  const schema = keys.split('.').slice(0, -1);
  const [last = ''] = keys.split('.').slice(-1);
  const index = dialect === 'sqlite' ? [...schema, `${last}_created`].join('.') : `${last}_created`;
  return {
    fences: quoted(dialect, 'the table of fences', fences),
    keys: quoted(dialect, 'the table of keys', keys),
    keysAlone: quoted(dialect, 'the table of keys', last),
    keysByAge: quoted(dialect, 'the index of the table of keys', index),
  };
}
