/** MULTI, EXEC and DISCARD. WATCH is missing: neither locks nor their clients use it. */

import { CommandError } from '../../protocol/command-error.ts';
import { type NodeReply, OK } from '../../protocol/reply.ts';
import type { NodeConnection } from '../../state/connection.ts';
import { type Command, type CommandContext, manages } from '../command.ts';

/** Commands that run at once, also between MULTI and EXEC. */
const NEVER_QUEUED = new Set(['multi', 'exec', 'discard', 'quit', 'reset', 'watch']);

export function isQueued(connection: NodeConnection, command: Command): boolean {
  return connection.transaction !== null && !NEVER_QUEUED.has(command.name);
}

export type RunQueued = (context: CommandContext, command: readonly string[]) => NodeReply;

export function transactionCommands(run: RunQueued): readonly Command[] {
  return [
    manages('multi', 0, 0, ({ connection }) => {
      if (connection.transaction !== null) throw new CommandError('ERR MULTI calls can not be nested');
      connection.transaction = { commands: [], isBroken: false };
      return OK;
    }),
    manages('exec', 0, 0, (context) => {
      const { connection } = context;
      const { transaction } = connection;
      if (transaction === null) throw new CommandError('ERR EXEC without MULTI');
      connection.transaction = null;
      if (transaction.isBroken)
        throw new CommandError('EXECABORT Transaction discarded because of previous errors.');
      return transaction.commands.map((command) => run(context, command));
    }),
    manages('discard', 0, 0, ({ connection }) => {
      if (connection.transaction === null) throw new CommandError('ERR DISCARD without MULTI');
      connection.transaction = null;
      return OK;
    }),
  ];
}
