/**
 * The table of all commands, and the way from a request to its reply.
 *
 * In this folder: the table of commands, made of those in `data/` and `server/`. Only `node/` imports from here.
 */

import { CommandError } from '../protocol/command-error.ts';
import { ErrorReply, type NodeReply, Pairs, QUEUED, Status } from '../protocol/reply.ts';
import type { NodeConnection } from '../state/connection.ts';
import type { KeySpace } from '../state/key-space.ts';
import type { NodeState } from '../state/node-state.ts';
import { ANY, at, type Command, type CommandContext, manages } from './command.ts';
import { DATA_COMMANDS } from './data-commands.ts';
import { sendToMonitors } from './monitor-line.ts';
import { assertMayRun } from './server/messages.ts';
import { isQueued } from './server/transactions.ts';
import { serverCommands } from './server-commands.ts';

/** COMMAND, for clients that ask which commands there are: name, number of arguments, whether it writes. */
const describeCommands = manages('command', 0, ANY, (_context, args) => {
  const question = args[0]?.toLowerCase();
  if (question === 'count') return COMMANDS.size;
  if (question === 'docs') return new Pairs([]);
  if (question !== undefined) throw new CommandError(`ERR unknown subcommand '${question}'.`);
  return [...COMMANDS.values()].map(({ name, least, most, isWrite }) => {
    const arity = least === most ? least + 1 : -(least + 1);
    return [name, arity, [new Status(isWrite ? 'write' : 'readonly')], 0, 0, 0];
  });
});

const COMMANDS: ReadonlyMap<string, Command> = new Map(
  [
    ...DATA_COMMANDS,
    ...serverCommands(
      callFromScript,
      (name) => findCommand(name) !== undefined,
      (context, [name = '', ...args]) => run(context, findCommand(name), name, args),
    ),
    describeCommands,
  ].map((command) => [command.name, command]),
);

/** Runs one request of a connection. A request that is refused gets an error reply; nothing is thrown. */
export function execute(node: NodeState, connection: NodeConnection, request: readonly string[]): NodeReply {
  node.tick();
  const [name = '', ...args] = request;
  const command = findCommand(name);
  try {
    if (command === undefined) throw unknownCommand(name, args);
    assertArity(command, args);
    assertMayRun(connection, command);
  } catch (error) {
    if (connection.transaction !== null) connection.transaction.isBroken = true;
    return refusal(error);
  }
  if (isQueued(connection, command)) {
    connection.transaction?.commands.push(request);
    return QUEUED;
  }
  return run({ node, connection }, command, name, args);
}

function run(
  { node, connection }: Pick<CommandContext, 'node' | 'connection'>,
  command: Command | undefined,
  name: string,
  args: readonly string[],
): NodeReply {
  if (command === undefined) return refusal(unknownCommand(name, args));
  connection.lastCommand = command.name;
  node.countCommand(command.name);
  sendToMonitors(node, connection.database, connection.peer.address, name, args);
  // SELECT has checked that the database exists.
  const keys = node.databases[connection.database] as KeySpace;
  return attempt(command, { node, connection, keys, isScript: false }, args);
}

function callFromScript(
  context: CommandContext,
  name: string,
  args: readonly string[],
  mayWrite: boolean,
): NodeReply {
  const command = findCommand(name);
  if (command === undefined) return new ErrorReply('ERR Unknown Redis command called from script');
  if (args.length < command.least || args.length > command.most)
    return new ErrorReply('ERR Wrong number of args calling Redis command from script');
  if (!command.isForScripts) return new ErrorReply('ERR This Redis command is not allowed from script');
  if (command.isWrite && !mayWrite)
    return new ErrorReply('ERR Write commands are not allowed from read-only scripts.');
  context.node.countCommand(command.name);
  sendToMonitors(context.node, context.connection.database, 'lua', name, args);
  return attempt(command, context, args);
}

function attempt(command: Command, context: CommandContext, args: readonly string[]): NodeReply {
  try {
    return command.run(context, args);
  } catch (error) {
    return refusal(error);
  }
}

function refusal(error: unknown): ErrorReply {
  if (error instanceof CommandError) return new ErrorReply(error.message);
  throw error;
}

function findCommand(name: string): Command | undefined {
  return COMMANDS.get(name) ?? COMMANDS.get(name.toLowerCase());
}

function assertArity(command: Command, args: readonly string[]): void {
  if (args.length >= command.least && args.length <= command.most) return;
  throw new CommandError(`ERR wrong number of arguments for '${command.name}' command`);
}

function unknownCommand(name: string, args: readonly string[]): CommandError {
  const shown = args.length > 0 ? ` ${at(args, 0).slice(0, 32)}` : '';
  return new CommandError(
    `ERR unknown command '${name.slice(0, 64)}${shown}': the embedded node implements only what locks and their clients use`,
  );
}
