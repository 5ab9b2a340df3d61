import { COMMANDS, commandOf, redisCallsOf } from '../commands.ts';
import type { Complaint } from '../complaint.ts';
import { quoteLine, type Rule, unitsOf } from '../program.ts';

/** Scripts send commands of our table only, by a literal name, and write only when their flags say so. */
export const checkCommands: Rule = (program) =>
  unitsOf(program).flatMap((unit) =>
    redisCallsOf(unit.block).flatMap((call): Complaint[] => {
      const at = { file: unit.file, line: call.line };
      const [name] = call.args;
      if (name?.kind !== 'literal' || name.type !== 'string') {
        return [{ ...at, expected: 'a command named by a literal', found: quoteLine(unit, call.line) }];
      }
      const command = commandOf(call);
      if (command === undefined) {
        return [{ ...at, expected: `one of ${[...COMMANDS.keys()].join(', ')}`, found: `\`${name.value}\`` }];
      }
      if (command.writes && program.header.flags.includes('no-writes')) {
        return [{ ...at, expected: 'only reads in a script with no-writes', found: `\`${name.value}\`` }];
      }
      return [];
    }),
  );
