/** Commands on lists: the queue of a fair lock. */

import { CommandError, syntaxError } from '../../protocol/command-error.ts';
import { integerOf } from '../../protocol/number-text.ts';
import { NO_LIST, type NodeReply, OK } from '../../protocol/reply.ts';
import type { KeySpace } from '../../state/key-space.ts';
import { ANY, at, type Command, type CommandContext, reads, writes } from '../command.ts';

const NO_ITEMS: readonly string[] = [];

function itemsAt(keys: KeySpace, key: string): readonly string[] {
  return keys.find(key, 'list')?.items ?? NO_ITEMS;
}

/** Reads the two indexes of a range, which may count from the end. Gives the range for a list of a given length. */
function readRange(startBytes: string, stopBytes: string): (length: number) => [start: number, end: number] {
  const start = integerOf(startBytes);
  const stop = integerOf(stopBytes);
  return (length) => {
    const from = Math.max(0, start < 0 ? length + start : start);
    return [from, Math.max(from, Math.min(length, (stop < 0 ? length + stop : stop) + 1))];
  };
}

function push(name: string, isLeft: boolean, mustExist: boolean): Command {
  return writes(name, 2, ANY, ({ keys }, args) => {
    const key = at(args, 0);
    let found = keys.find(key, 'list');
    if (found === undefined && mustExist) return 0;
    if (found === undefined) {
      found = { type: 'list', items: [] };
      keys.put(key, found);
    }
    for (const item of args.slice(1)) {
      if (isLeft) found.items.unshift(item);
      else found.items.push(item);
    }
    return found.items.length;
  });
}

function pop(name: string, isLeft: boolean): Command {
  return writes(name, 1, 2, ({ keys }, args) => {
    const limit = args.length > 1 ? integerOf(at(args, 1), 'ERR value is out of range, must be positive') : 1;
    if (limit < 0) throw new CommandError('ERR value is out of range, must be positive');
    const found = keys.find(at(args, 0), 'list');
    if (found === undefined) return args.length > 1 ? NO_LIST : null;
    const count = Math.min(limit, found.items.length);
    const taken = isLeft
      ? found.items.splice(0, count)
      : found.items.splice(found.items.length - count).reverse();
    if (found.items.length === 0) keys.delete(at(args, 0));
    return args.length > 1 ? taken : (taken[0] ?? null);
  });
}

function remove({ keys }: CommandContext, args: readonly string[]): number {
  const count = integerOf(at(args, 1));
  const found = keys.find(at(args, 0), 'list');
  if (found === undefined) return 0;
  const { items } = found;
  const matches = items.flatMap((item, index) => (item === at(args, 2) ? [index] : []));
  const chosen = count === 0 ? matches : count > 0 ? matches.slice(0, count) : matches.slice(count);
  for (const index of chosen.reverse()) items.splice(index, 1);
  if (items.length === 0) keys.delete(at(args, 0));
  return chosen.length;
}

function insert({ keys }: CommandContext, args: readonly string[]): number {
  const where = at(args, 1).toUpperCase();
  if (where !== 'BEFORE' && where !== 'AFTER') throw syntaxError();
  const found = keys.find(at(args, 0), 'list');
  if (found === undefined) return 0;
  const index = found.items.indexOf(at(args, 2));
  if (index < 0) return -1;
  found.items.splice(where === 'BEFORE' ? index : index + 1, 0, at(args, 3));
  return found.items.length;
}

function setItem({ keys }: CommandContext, args: readonly string[]): NodeReply {
  const found = keys.find(at(args, 0), 'list');
  if (found === undefined) throw new CommandError('ERR no such key');
  const index = integerOf(at(args, 1));
  const place = index < 0 ? found.items.length + index : index;
  if (place < 0 || place >= found.items.length) throw new CommandError('ERR index out of range');
  found.items[place] = at(args, 2);
  return OK;
}

export const LIST_COMMANDS: readonly Command[] = [
  reads('llen', 1, 1, ({ keys }, args) => itemsAt(keys, at(args, 0)).length),
  reads('lrange', 3, 3, ({ keys }, args) => {
    const rangeIn = readRange(at(args, 1), at(args, 2));
    const items = itemsAt(keys, at(args, 0));
    return items.slice(...rangeIn(items.length));
  }),
  reads('lindex', 2, 2, ({ keys }, args) => {
    const found = keys.find(at(args, 0), 'list');
    return found?.items.at(integerOf(at(args, 1))) ?? null;
  }),
  push('lpush', true, false),
  push('rpush', false, false),
  push('lpushx', true, true),
  push('rpushx', false, true),
  pop('lpop', true),
  pop('rpop', false),
  writes('lrem', 3, 3, remove),
  writes('linsert', 4, 4, insert),
  writes('lset', 3, 3, setItem),
  writes('ltrim', 3, 3, ({ keys }, args) => {
    const rangeIn = readRange(at(args, 1), at(args, 2));
    const found = keys.find(at(args, 0), 'list');
    if (found === undefined) return OK;
    const [start, end] = rangeIn(found.items.length);
    found.items.splice(0, found.items.length, ...found.items.slice(start, end));
    if (found.items.length === 0) keys.delete(at(args, 0));
    return OK;
  }),
];
