/**
 * Scripts as commands of ioredis, made by us. Its methods flatten their arguments, element by element, in case some are
 * arrays: that takes it as long as all the rest of a command does.
 */
import type { ScriptCall } from './client.ts';

/** What we use of a command of its own. */
export interface Command {
  args: readonly string[];
}

export type MakeCommand = (call: ScriptCall, isByText: boolean) => Command;

type CommandClass = new (name: string, args: readonly [], options: object) => Command;

/** Whoever sends commands, by its methods and as such. */
interface Commander {
  sendCommand(command: Command): Promise<unknown>;
  evalsha(...args: readonly string[]): Promise<unknown>;
}

const OPTIONS = { replyEncoding: 'utf8' };

/** Makes commands that this client can send; null when we cannot tell how, and it must make them. */
export function commandMaker(client: Commander): MakeCommand | null {
  const CommandClass = commandClassOf(client);
  if (CommandClass === null) return null;
  return (call, isByText) => {
    const command = new CommandClass(isByText ? 'eval' : 'evalsha', [], OPTIONS);
    command.args = argumentsOf(call, isByText);
    return command;
  };
}

export function argumentsOf({ script, keys, args }: ScriptCall, isByText: boolean): readonly string[] {
  return [isByText ? script.source : script.sha, String(keys.length), ...keys, ...args];
}

/**
 * The class is public, but only the client's module has it, and which copy of that the caller has loaded is not ours
 * to know. So we look at a command that the client hands itself to send.
 */
function commandClassOf(client: Commander): CommandClass | null {
  let found: unknown = null;
  const sendCommand = async (command: Command): Promise<void> => {
    found = command.constructor;
  };
  try {
    const decoy: Commander = Object.create(client, { sendCommand: { value: sendCommand } });
    decoy.evalsha('').catch(() => {});
  } catch {
    return null;
  }
  return typeof found === 'function' && found !== Object ? (found as CommandClass) : null;
}
