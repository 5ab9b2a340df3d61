/** Commands on hashes: re-entrant locks, read-write locks. */

import { CommandError, OVERFLOW } from '../../protocol/command-error.ts';
import { bigIntegerOf, integerReply, isInt64 } from '../../protocol/number-text.ts';
import { type NodeReply, OK, Pairs } from '../../protocol/reply.ts';
import type { KeySpace } from '../../state/key-space.ts';
import { ANY, at, type Command, type CommandContext, reads, writes } from '../command.ts';

type Fields = Map<string, string>;

const NO_FIELDS: ReadonlyMap<string, string> = new Map();

function fieldsAt(keys: KeySpace, key: string): ReadonlyMap<string, string> {
  return keys.find(key, 'hash')?.fields ?? NO_FIELDS;
}

function openFields(keys: KeySpace, key: string): Fields {
  const found = keys.find(key, 'hash');
  if (found !== undefined) return found.fields;
  const fields: Fields = new Map();
  keys.put(key, { type: 'hash', fields });
  return fields;
}

function setFields({ keys }: CommandContext, args: readonly string[], name: string): number {
  if (args.length % 2 === 0) throw new CommandError(`ERR wrong number of arguments for '${name}' command`);
  const fields = openFields(keys, at(args, 0));
  const before = fields.size;
  for (let i = 1; i < args.length; i += 2) fields.set(at(args, i), at(args, i + 1));
  return fields.size - before;
}

function deleteFields({ keys }: CommandContext, args: readonly string[]): number {
  const found = keys.find(at(args, 0), 'hash');
  if (found === undefined) return 0;
  let deleted = 0;
  for (const field of args.slice(1)) if (found.fields.delete(field)) deleted += 1;
  if (found.fields.size === 0) keys.delete(at(args, 0));
  return deleted;
}

function incrementField({ keys }: CommandContext, args: readonly string[]): NodeReply {
  const by = bigIntegerOf(at(args, 2));
  const before = fieldsAt(keys, at(args, 0)).get(at(args, 1)) ?? '0';
  const value = bigIntegerOf(before, 'ERR hash value is not an integer') + by;
  if (!isInt64(value)) throw new CommandError(OVERFLOW);
  openFields(keys, at(args, 0)).set(at(args, 1), String(value));
  return integerReply(value);
}

export const HASH_COMMANDS: readonly Command[] = [
  reads('hget', 2, 2, ({ keys }, args) => fieldsAt(keys, at(args, 0)).get(at(args, 1)) ?? null),
  reads('hmget', 2, ANY, ({ keys }, args) => {
    const fields = fieldsAt(keys, at(args, 0));
    return args.slice(1).map((field) => fields.get(field) ?? null);
  }),
  reads('hexists', 2, 2, ({ keys }, args) => (fieldsAt(keys, at(args, 0)).has(at(args, 1)) ? 1 : 0)),
  reads('hlen', 1, 1, ({ keys }, args) => fieldsAt(keys, at(args, 0)).size),
  reads('hstrlen', 2, 2, ({ keys }, args) => fieldsAt(keys, at(args, 0)).get(at(args, 1))?.length ?? 0),
  reads('hgetall', 1, 1, ({ keys }, args) => new Pairs([...fieldsAt(keys, at(args, 0))].flat())),
  reads('hkeys', 1, 1, ({ keys }, args) => [...fieldsAt(keys, at(args, 0)).keys()]),
  reads('hvals', 1, 1, ({ keys }, args) => [...fieldsAt(keys, at(args, 0)).values()]),
  writes('hset', 3, ANY, (context, args) => setFields(context, args, 'hset')),
  writes('hmset', 3, ANY, (context, args) => {
    setFields(context, args, 'hmset');
    return OK;
  }),
  writes('hsetnx', 3, 3, (context, args) => {
    if (fieldsAt(context.keys, at(args, 0)).has(at(args, 1))) return 0;
    return setFields(context, args, 'hsetnx');
  }),
  writes('hdel', 2, ANY, deleteFields),
  writes('hincrby', 3, 3, incrementField),
];
