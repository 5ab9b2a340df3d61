/**
 * Scripts as command objects of ioredis, made by us. The methods of ioredis flatten their arguments, element by element,
 * in case some are arrays: with them 64 callers, unbundled, take about 20 % more processor time.
 */
import type { ScriptCall } from '../client.ts';

/** What we use of a command object. */
export interface Command {
  name: string;
  args: readonly string[];
  readonly promise: Promise<unknown>;
}

export type MakeCommand = (call: ScriptCall, isByText: boolean) => Command;

type CommandClass = new (name: string, args: readonly [], options: object) => Command;

/** What we use of a client. */
interface Commander {
  readonly options: object;
  evalsha(...args: readonly string[]): Promise<unknown>;
}

const OPTIONS = { replyEncoding: 'utf8' };

/** Makes commands that this client can send; null when we cannot tell how, and the client must make them itself. */
export function commandMaker(client: Commander): MakeCommand | null {
  const CommandClass = commandClassOf(client);
  if (CommandClass === null) return null;
  return (call, isByText) => {
    // Created unnamed so that user argument transformers for EVALSHA do not run.
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
 * The command class is public, but only the client's module exports it, and we do not know which copy of the module the
 * caller has loaded. So we look at a command that such a client hands itself to send. Not the caller's client but a
 * decoy with its prototype: a client in a wrapper would really send the command, and connect for that.
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
