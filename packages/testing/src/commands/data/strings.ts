/** Commands on strings: mutexes, fence counters, latches. */

import { CommandError, OVERFLOW, syntaxError } from '../../protocol/command-error.ts';
import { bigIntegerOf, integerReply, isInt64 } from '../../protocol/number-text.ts';
import { type NodeReply, OK } from '../../protocol/reply.ts';
import { ANY, at, type Command, type CommandContext, reads, writes } from '../command.ts';
import { expiryTime } from './expiry-time.ts';

interface SetTerms {
  condition: 'always' | 'NX' | 'XX';
  wantsOld: boolean;
  keepsExpiry: boolean;
  /** The unit and the number of an expiry option such as `PX 100`, or null without one. */
  lifetime: readonly [unit: string, bytes: string] | null;
}

const EXPIRY_UNITS = new Set(['EX', 'PX', 'EXAT', 'PXAT']);

function readSetTerms(args: readonly string[]): SetTerms {
  const terms: SetTerms = { condition: 'always', wantsOld: false, keepsExpiry: false, lifetime: null };
  for (let i = 2; i < args.length; i += 1) {
    const option = at(args, i).toUpperCase();
    if ((option === 'NX' || option === 'XX') && [option, 'always'].includes(terms.condition)) {
      terms.condition = option;
    } else if (option === 'GET') {
      terms.wantsOld = true;
    } else if (option === 'KEEPTTL' && terms.lifetime === null) {
      terms.keepsExpiry = true;
    } else if (
      EXPIRY_UNITS.has(option) &&
      i + 1 < args.length &&
      !terms.keepsExpiry &&
      terms.lifetime === null
    ) {
      i += 1;
      terms.lifetime = [option, at(args, i)];
    } else {
      throw syntaxError();
    }
  }
  return terms;
}

function set(context: CommandContext, args: readonly string[]): NodeReply {
  const { keys, node } = context;
  const key = at(args, 0);
  const terms = readSetTerms(args);
  const [unit, bytes = ''] = terms.lifetime ?? [];
  const givenMs = unit === undefined ? null : expiryTime(context, bytes, unit, 'set');
  const old = terms.wantsOld ? (keys.find(key, 'string')?.bytes ?? null) : null;
  const entry = keys.entry(key);
  const isRefused =
    terms.condition === 'NX' ? entry !== undefined : terms.condition === 'XX' && entry === undefined;
  if (!isRefused) {
    const expiresAtMs = terms.keepsExpiry ? (entry?.expiresAtMs ?? null) : givenMs;
    if (expiresAtMs !== null && expiresAtMs <= node.nowMs) keys.delete(key);
    else keys.put(key, { type: 'string', bytes: at(args, 1) }, expiresAtMs);
  }
  if (terms.wantsOld) return old;
  return isRefused ? null : OK;
}

function setFor(name: string, unit: 'EX' | 'PX'): Command {
  return writes(name, 3, 3, (context, args) => {
    const expiresAtMs = expiryTime(context, at(args, 1), unit, name);
    context.keys.put(at(args, 0), { type: 'string', bytes: at(args, 2) }, expiresAtMs);
    return OK;
  });
}

function increment({ keys }: CommandContext, key: string, by: bigint): number | bigint {
  const found = keys.find(key, 'string');
  const value = bigIntegerOf(found?.bytes ?? '0') + by;
  if (!isInt64(value)) throw new CommandError(OVERFLOW);
  if (found === undefined) keys.put(key, { type: 'string', bytes: String(value) });
  else found.bytes = String(value);
  return integerReply(value);
}

const INT64_MIN = -(2n ** 63n);

function decrementBy(context: CommandContext, args: readonly string[]): number | bigint {
  const by = bigIntegerOf(at(args, 1));
  if (by === INT64_MIN) throw new CommandError('ERR decrement would overflow');
  return increment(context, at(args, 0), -by);
}

function stringAt({ keys }: CommandContext, key: string): string | null {
  return keys.find(key, 'string')?.bytes ?? null;
}

export const STRING_COMMANDS: readonly Command[] = [
  reads('get', 1, 1, (context, args) => stringAt(context, at(args, 0))),
  reads('strlen', 1, 1, (context, args) => stringAt(context, at(args, 0))?.length ?? 0),
  reads('mget', 1, ANY, ({ keys }, args) =>
    args.map((key) => {
      const value = keys.entry(key)?.value;
      return value?.type === 'string' ? value.bytes : null;
    }),
  ),
  writes('set', 2, ANY, set),
  setFor('setex', 'EX'),
  setFor('psetex', 'PX'),
  writes('setnx', 2, 2, (context, args) => (set(context, [...args, 'NX']) === null ? 0 : 1)),
  writes('getset', 2, 2, (context, args) => set(context, [...args, 'GET'])),
  writes('getdel', 1, 1, (context, args) => {
    const found = stringAt(context, at(args, 0));
    context.keys.delete(at(args, 0));
    return found;
  }),
  writes('append', 2, 2, (context, args) => {
    const found = context.keys.find(at(args, 0), 'string');
    if (found === undefined) context.keys.put(at(args, 0), { type: 'string', bytes: at(args, 1) });
    else found.bytes += at(args, 1);
    return (found?.bytes ?? at(args, 1)).length;
  }),
  writes('incr', 1, 1, (context, args) => increment(context, at(args, 0), 1n)),
  writes('decr', 1, 1, (context, args) => increment(context, at(args, 0), -1n)),
  writes('incrby', 2, 2, (context, args) => increment(context, at(args, 0), bigIntegerOf(at(args, 1)))),
  writes('decrby', 2, 2, decrementBy),
];
