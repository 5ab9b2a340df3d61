/**
 * Commands on keys of any type, and on whole databases.
 *
 * In this folder: the commands on keys and values, a file for each type. Only `commands/data-commands.ts` imports
 * from here.
 */

import { CommandError, syntaxError } from '../../protocol/command-error.ts';
import { integerOf } from '../../protocol/number-text.ts';
import { type NodeReply, OK, Status } from '../../protocol/reply.ts';
import { matchesGlob } from '../../state/glob.ts';
import { ANY, at, type Command, type CommandContext, reads, writes } from '../command.ts';

const SCAN_COUNT_DEFAULT = 10;

interface ScanTerms {
  pattern: string;
  type: string;
  count: number;
}

function readScanTerms(args: readonly string[]): ScanTerms {
  const terms: ScanTerms = { pattern: '*', type: '', count: SCAN_COUNT_DEFAULT };
  for (let i = 1; i < args.length; i += 2) {
    const option = at(args, i).toUpperCase();
    if (i + 1 >= args.length) throw syntaxError();
    if (option === 'MATCH') terms.pattern = at(args, i + 1);
    else if (option === 'TYPE') terms.type = at(args, i + 1).toLowerCase();
    else if (option === 'COUNT') terms.count = integerOf(at(args, i + 1));
    else throw syntaxError();
    if (terms.count < 1) throw syntaxError();
  }
  return terms;
}

/**
 * The cursor is the id of the last key that was returned or passed over. Ids grow with every key that is made, so a
 * scan returns each key that exists all the time exactly once.
 */
function scan({ keys }: CommandContext, args: readonly string[]): NodeReply {
  if (!/^-?\d{0,20}$/.test(at(args, 0))) throw new CommandError('ERR invalid cursor');
  // Redis reads a cursor as an unsigned number: a negative cursor is beyond every key.
  const cursor = at(args, 0).startsWith('-') ? Number.POSITIVE_INFINITY : Number(at(args, 0));
  const { pattern, type, count } = readScanTerms(args);
  const found: string[] = [];
  let looked = 0;
  let last = 0;
  for (const [key, entry] of keys.entries()) {
    if (entry.id <= cursor) continue;
    if (looked === count) return [String(last), found];
    looked += 1;
    last = entry.id;
    if ((type === '' || entry.value.type === type) && matchesGlob(pattern, key)) found.push(key);
  }
  return ['0', found];
}

function flush(context: CommandContext, args: readonly string[], isAll: boolean): NodeReply {
  const mode = args[0]?.toUpperCase();
  if (mode !== undefined && mode !== 'SYNC' && mode !== 'ASYNC') throw syntaxError();
  const flushed = isAll ? context.node.databases : [context.keys];
  for (const keys of flushed) keys.clear();
  return OK;
}

function remove({ keys }: CommandContext, args: readonly string[]): number {
  let removed = 0;
  for (const key of args) if (keys.delete(key)) removed += 1;
  return removed;
}

function rename({ keys }: CommandContext, args: readonly string[]): NodeReply {
  const entry = keys.entry(at(args, 0));
  if (entry === undefined) throw new CommandError('ERR no such key');
  keys.delete(at(args, 0));
  keys.put(at(args, 1), entry.value, entry.expiresAtMs);
  return OK;
}

export const KEY_COMMANDS: readonly Command[] = [
  reads('exists', 1, ANY, ({ keys }, args) => args.filter((key) => keys.entry(key) !== undefined).length),
  reads('type', 1, 1, ({ keys }, args) => new Status(keys.entry(at(args, 0))?.value.type ?? 'none')),
  reads('keys', 1, 1, ({ keys }, args) =>
    [...keys.entries()].map(([key]) => key).filter((key) => matchesGlob(at(args, 0), key)),
  ),
  reads('scan', 1, ANY, scan),
  reads('dbsize', 0, 0, ({ keys }) => keys.size),
  writes('del', 1, ANY, remove),
  writes('unlink', 1, ANY, remove),
  writes('rename', 2, 2, rename),
  writes('flushdb', 0, 1, (context, args) => flush(context, args, false)),
  writes('flushall', 0, 1, (context, args) => flush(context, args, true)),
];
