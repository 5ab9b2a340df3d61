/** Commands whose first argument names a subcommand: CLIENT, CONFIG, SCRIPT, PUBSUB. */

import { CommandError } from '../protocol/command-error.ts';
import { ANY, at, type Command } from './command.ts';

export function subcommands(name: string, members: readonly Command[], isForScripts: boolean): Command {
  const byName = new Map(members.map((member) => [member.name, member]));
  return {
    name,
    least: 1,
    most: ANY,
    isWrite: false,
    isForScripts,
    run: (context, args) => {
      const member = byName.get(at(args, 0).toLowerCase());
      if (member === undefined) {
        throw new CommandError(
          `ERR unknown subcommand '${at(args, 0)}'. The embedded node knows ${name.toUpperCase()} ${[...byName.keys()].join(', ').toUpperCase()}.`,
        );
      }
      const count = args.length - 1;
      if (count < member.least || count > member.most)
        throw new CommandError(`ERR wrong number of arguments for '${name}|${member.name}' command`);
      return member.run(context, args.slice(1));
    },
  };
}
