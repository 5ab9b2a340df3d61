/**
 * Scripts as commands of ioredis, made by us. Its methods flatten their arguments, element by element, in case some are
 * arrays: that takes it as long as all the rest of a command does.
 */
import type { ScriptCall } from '../client.ts';

/** What we use of a command of its own. */
export interface Command {
  name: string;
  args: readonly string[];
  readonly promise: Promise<unknown>;
}

export type MakeCommand = (call: ScriptCall, isByText: boolean) => Command;

type CommandClass = new (name: string, args: readonly [], options: object) => Command;

/** Whoever sends commands by its methods. */
interface Commander {
  readonly options: object;
  evalsha(...args: readonly string[]): Promise<unknown>;
}

const OPTIONS = { replyEncoding: 'utf8' };

/** Makes commands that this client can send; null when we cannot tell how, and it must make them. */
export function commandMaker(client: Commander): MakeCommand | null {
  const CommandClass = commandClassOf(client);
  if (CommandClass === null) return null;
  return (call, isByText) => {
    // Under no name at first: what an application has its client do to the arguments of a script is not for ours.
    const command = new CommandClass('', [], OPTIONS);
    command.name = isByText ? 'eval' : 'evalsha';
    command.args = argumentsOf(call, isByText);
    return command;
  };
}

export function argumentsOf({ script, keys, args }: ScriptCall, isByText: boolean): readonly string[] {
  return [isByText ? script.source : script.sha, String(keys.length), ...keys, ...args];
}

/**
 * The class is public, but only the client's module has it, and which copy of that the caller has loaded is not ours
 * to know. So we look at a command that such a client hands itself to send. Not this one: a client in a wrapper would
 * really send it, and connect for that.
 */
function commandClassOf(client: Commander): CommandClass | null {
  let found: unknown = null;
  const sendCommand = (command: Command): Promise<unknown> => {
    found = command.constructor;
    return command.promise;
  };
  try {
    const decoy: Commander = Object.create(Object.getPrototypeOf(client), {
      options: { value: client.options },
      sendCommand: { value: sendCommand },
    });
    decoy.evalsha('').catch(() => {});
  } catch {
    return null;
  }
  return isCommandClass(found) ? found : null;
}

function isCommandClass(found: unknown): found is CommandClass {
  return typeof found === 'function' && typeof found.prototype?.toWritable === 'function';
}
