/**
 * What each verb has: the connection and the names of the tables.
 *
 * In this folder: one file for each verb, as a plan that both entries run. Only the entries (`index.ts`, `sync.ts`,
 * `verbs.ts`, `verbs-sync.ts`) import from here.
 */
import { checkOptions } from '../checks.ts';
import type { Connection, Dialect } from '../connections/connection.ts';
import { type TableNames, type Tables, tablesOf } from '../dialects/names.ts';

export interface VerbOptions {
  /** The tables, where `migrate` was given other names than the usual ones. */
  readonly names?: TableNames | undefined;
}

export interface Context {
  readonly connection: Connection;
  readonly dialect: Dialect;
  readonly tables: Tables;
}

/** `more`: the options of the verb beside the names of the tables. */
export function contextOf(
  connection: Connection,
  options: VerbOptions = {},
  more: readonly string[] = [],
): Context {
  checkOptions('the options', options, ['names', ...more]);
  const { names = {} } = options;
  checkOptions('names', names, ['fences', 'keys']);
  return { connection, dialect: connection.dialect, tables: tablesOf(connection.dialect, names) };
}

/** How a resource or a key is bound. MySQL compares bytes with bytes; a string would be converted to a character set first. */
export function bound({ dialect }: Context, text: string): string | Buffer {
  return dialect === 'mysql' ? Buffer.from(text) : text;
}
