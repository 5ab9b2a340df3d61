/** EVAL, EVALSHA, their read-only variants, and SCRIPT. */

import type { ScriptEngine } from '../../lua/script-engine.ts';
import { type LoadedScript, readScript, sha1 } from '../../lua/script-text.ts';
import { CommandError } from '../../protocol/command-error.ts';
import { integerOf } from '../../protocol/number-text.ts';
import { type NodeReply, OK } from '../../protocol/reply.ts';
import { ANY, at, type Command, type CommandContext, manages } from '../command.ts';
import { subcommands } from '../subcommands.ts';

const SHA = /^[0-9a-f]{40}$/i;
const NO_SCRIPT = 'NOSCRIPT No matching script. Please use EVAL.';

/** Runs a command for a script. */
export type CallFromScript = (
  context: CommandContext,
  name: string,
  args: readonly string[],
  mayWrite: boolean,
) => NodeReply;

export type KnowsCommand = (name: string) => boolean;

function engineOf({ node }: CommandContext): ScriptEngine {
  const { engine } = node;
  if (engine === null)
    throw new Error('holdfast is broken: a script was run before the script engine was loaded');
  return engine;
}

function load(context: CommandContext, source: string): LoadedScript {
  const sha = sha1(source);
  const known = context.node.scripts.get(sha);
  if (known !== undefined) return known;
  const script = readScript(source, sha);
  engineOf(context).compile(script);
  context.node.scripts.set(sha, script);
  return script;
}

function find({ node }: CommandContext, sha: string): LoadedScript {
  const script = node.scripts.get(sha.toLowerCase());
  if (script === undefined) throw new CommandError(NO_SCRIPT);
  return script;
}

function keyCount(args: readonly string[]): number {
  const count = integerOf(at(args, 1));
  if (count > args.length - 2)
    throw new CommandError("ERR Number of keys can't be greater than number of args");
  if (count < 0) throw new CommandError("ERR Number of keys can't be negative");
  return count;
}

function evaluates(
  name: string,
  scriptOf: (context: CommandContext, argument: string) => LoadedScript,
  isReadOnly: boolean,
  call: CallFromScript,
  knows: KnowsCommand,
): Command {
  return manages(name, 2, ANY, (context, args) => {
    const count = keyCount(args);
    const script = scriptOf(context, at(args, 0));
    const mayWrite = script.mayWrite && !isReadOnly;
    const inside = { ...context, isScript: true };
    const host = {
      call: (called: string, given: readonly string[]) => call(inside, called, given, mayWrite),
      knows,
    };
    return engineOf(context).run(script, args.slice(2, 2 + count), args.slice(2 + count), host);
  });
}

const SCRIPT: readonly Command[] = [
  manages('load', 1, 1, (context, args) => load(context, at(args, 0)).sha),
  manages('exists', 1, ANY, ({ node }, shas) =>
    shas.map((sha) => (SHA.test(sha) && node.scripts.has(sha.toLowerCase()) ? 1 : 0)),
  ),
  manages('flush', 0, 1, ({ node }, args) => {
    const mode = args[0]?.toUpperCase();
    if (mode !== undefined && mode !== 'SYNC' && mode !== 'ASYNC')
      throw new CommandError('ERR SCRIPT FLUSH only support SYNC|ASYNC option');
    node.scripts.clear();
    return OK;
  }),
];

export function scriptCommands(call: CallFromScript, knows: KnowsCommand): readonly Command[] {
  return [
    evaluates('eval', load, false, call, knows),
    evaluates('evalsha', find, false, call, knows),
    evaluates('eval_ro', load, true, call, knows),
    evaluates('evalsha_ro', find, true, call, knows),
    subcommands('script', SCRIPT, false),
  ];
}
