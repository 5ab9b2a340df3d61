/** The shape of a command, and what a command is given when it runs. */

import type { NodeReply } from '../protocol/reply.ts';
import type { NodeConnection } from '../state/connection.ts';
import type { KeySpace } from '../state/key-space.ts';
import type { NodeState } from '../state/node-state.ts';

export interface CommandContext {
  readonly node: NodeState;
  readonly connection: NodeConnection;
  /** The database that the connection has selected. */
  readonly keys: KeySpace;
  /** Whether a script has called the command. */
  readonly isScript: boolean;
}

export interface Command {
  /** Lower case. */
  readonly name: string;
  /** Bounds on the number of arguments, the name not counted. */
  readonly least: number;
  readonly most: number;
  readonly isWrite: boolean;
  /** Whether a script may call the command. */
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

/** The argument at an index that the checked number of arguments covers. */
export function at(args: readonly string[], index: number): string {
  return args[index] as string;
}
