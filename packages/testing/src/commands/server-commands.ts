/**
 * The commands in server/: on messages, connections, scripts, transactions and the server itself. Scripts and
 * transactions run other commands. How they do it is given from outside: the table of commands contains theirs.
 */
import type { Command } from './command.ts';
import { ADMINISTRATION_COMMANDS } from './server/administration.ts';
import { CONNECTION_COMMANDS } from './server/connections.ts';
import { INFORMATION_COMMANDS } from './server/information.ts';
import { MESSAGE_COMMANDS } from './server/messages.ts';
import { type CallFromScript, type KnowsCommand, scriptCommands } from './server/scripting.ts';
import { type RunQueued, transactionCommands } from './server/transactions.ts';

export function serverCommands(
  callFromScript: CallFromScript,
  knows: KnowsCommand,
  runQueued: RunQueued,
): readonly Command[] {
  return [
    ...MESSAGE_COMMANDS,
    ...CONNECTION_COMMANDS,
    ...INFORMATION_COMMANDS,
    ...ADMINISTRATION_COMMANDS,
    ...scriptCommands(callFromScript, knows),
    ...transactionCommands(runQueued),
  ];
}
