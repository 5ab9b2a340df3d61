/**
 * TIME, ROLE, WAIT, MONITOR and CONFIG.
 *
 * In this folder: the commands that are not on keys. Only `commands/server-commands.ts` and `commands/dispatch.ts`
 * import from here.
 */

import { CommandError } from '../../protocol/command-error.ts';
import { integerOf } from '../../protocol/number-text.ts';
import { type NodeReply, OK, Pairs } from '../../protocol/reply.ts';
import { matchesGlob } from '../../state/glob.ts';
import { ANY, at, type Command, type CommandContext, manages, reads } from '../command.ts';
import { subcommands } from '../subcommands.ts';

const FIXED_SETTINGS = new Set(['databases']);
const MEMORY = /^(\d+)(b|kb?|mb?|gb?)?$/i;
const MEMORY_UNITS: Readonly<Record<string, number>> = {
  b: 1,
  k: 1000,
  kb: 1024,
  m: 1000 ** 2,
  mb: 1024 ** 2,
  g: 1000 ** 3,
  gb: 1024 ** 3,
};

/** A size in bytes, as CONFIG GET and INFO show it. */
function memoryOf(value: string): string {
  const [, digits, unit = 'b'] = MEMORY.exec(value) ?? [];
  if (digits === undefined) {
    throw new CommandError(
      `ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value`,
    );
  }
  return String(Number(digits) * (MEMORY_UNITS[unit.toLowerCase()] ?? 1));
}

function configSet({ node }: CommandContext, args: readonly string[]): NodeReply {
  if (args.length % 2 === 1) throw new CommandError("ERR wrong number of arguments for 'config|set' command");
  for (let i = 0; i < args.length; i += 2) {
    const name = at(args, i).toLowerCase();
    if (!node.settings.has(name) || FIXED_SETTINGS.has(name)) {
      throw new CommandError(
        `ERR Unknown option or number of arguments for CONFIG SET - '${at(args, i)}' (the embedded node has only the settings that CONFIG GET * lists)`,
      );
    }
    const value = at(args, i + 1);
    node.settings.set(name, name === 'maxmemory' ? memoryOf(value) : value);
  }
  return OK;
}

const CONFIG: readonly Command[] = [
  manages('get', 1, ANY, ({ node }, patterns) => {
    const found = [...node.settings].filter(([name]) =>
      patterns.some((pattern) => matchesGlob(pattern.toLowerCase(), name)),
    );
    return new Pairs(found.flat());
  }),
  manages('set', 2, ANY, configSet),
  manages('resetstat', 0, 0, ({ node }) => {
    node.commandCounts.clear();
    return OK;
  }),
];

/** The node has no replicas: it answers 0 at once, where a real server would wait for its time limit. */
function wait(_context: CommandContext, args: readonly string[]): NodeReply {
  const replicas = integerOf(at(args, 0));
  const timeoutMs = integerOf(at(args, 1), 'ERR timeout is not an integer or out of range');
  if (timeoutMs < 0) throw new CommandError('ERR timeout is negative');
  if (replicas > 0 && timeoutMs === 0) {
    throw new CommandError(
      'ERR the embedded node has no replicas, so a WAIT without a limit would never end',
    );
  }
  return 0;
}

export const ADMINISTRATION_COMMANDS: readonly Command[] = [
  reads('time', 0, 0, ({ node }) => {
    const { nowUs } = node;
    return [String(Math.floor(nowUs / 1_000_000)), String(nowUs % 1_000_000)];
  }),
  reads('role', 0, 0, () => ['master', 0, []]),
  manages('wait', 2, 2, wait),
  manages('monitor', 0, 0, ({ connection }) => {
    connection.isMonitor = true;
    return OK;
  }),
  subcommands('config', CONFIG, false),
];
