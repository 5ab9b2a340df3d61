/** What a command is, and what it is given. */
import type { NodeConnection } from './connection.ts';
import type { KeySpace } from './key-space.ts';
import type { NodeState } from './node-state.ts';
import type { NodeReply } from './reply.ts';

export interface CommandContext {
  readonly node: NodeState;
  readonly connection: NodeConnection;
  /** The database that the connection has selected. */
  readonly keys: KeySpace;
  /** Whether a script calls. */
  readonly isScript: boolean;
}

export interface Command {
  /** Lower case. */
  readonly name: string;
  /** How many arguments it takes, its name not counted. */
  readonly least: number;
  readonly most: number;
  readonly isWrite: boolean;
  /** Whether a script may call it. */
  readonly isForScripts: boolean;
  /** Refuses by throwing a `CommandError`. Arguments are bytes, without the command's name. */
  readonly run: (context: CommandContext, args: readonly string[]) => NodeReply;
}

export const ANY: number = Number.POSITIVE_INFINITY;

type Run = Command['run'];

export function reads(name: string, least: number, most: number, run: Run): Command {
  return { name, least, most, run, isWrite: false, isForScripts: true };
}

export function writes(name: string, least: number, most: number, run: Run): Command {
  return { name, least, most, run, isWrite: true, isForScripts: true };
}

/** A command about the connection or the server, which a script may not call. */
export function manages(name: string, least: number, most: number, run: Run): Command {
  return { name, least, most, run, isWrite: false, isForScripts: false };
}

/** An argument that the number of arguments promises. */
export function at(args: readonly string[], index: number): string {
  return args[index] as string;
}
