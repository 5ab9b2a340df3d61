/** Commands on sorted sets: the permits of a semaphore, the timeouts of a fair lock. */

import { CommandError, syntaxError } from '../../protocol/command-error.ts';
import { floatOf } from '../../protocol/number-text.ts';
import { Double, type NodeReply } from '../../protocol/reply.ts';
import type { KeySpace } from '../../state/key-space.ts';
import { ANY, at, type Command, type CommandContext, reads, writes } from '../command.ts';
import { NOT_A_SCORE_RANGE, type Scored, scoresAt, sorted, withinScores } from './score-order.ts';
import { range, rangeByScore } from './score-range.ts';

const ADD_FLAGS = new Set(['NX', 'XX', 'GT', 'LT', 'CH', 'INCR']);

function readAddFlags(args: readonly string[]): { flags: Set<string>; pairs: readonly string[] } {
  const flags = new Set<string>();
  let start = 1;
  while (start < args.length && ADD_FLAGS.has(at(args, start).toUpperCase())) {
    flags.add(at(args, start).toUpperCase());
    start += 1;
  }
  const pairs = args.slice(start);
  if (pairs.length === 0 || pairs.length % 2 === 1) throw syntaxError();
  if (flags.has('NX') && flags.has('XX'))
    throw new CommandError('ERR XX and NX options at the same time are not compatible');
  if ([flags.has('NX'), flags.has('GT'), flags.has('LT')].filter(Boolean).length > 1)
    throw new CommandError('ERR GT, LT, and/or NX options at the same time are not compatible');
  if (flags.has('INCR') && pairs.length > 2)
    throw new CommandError('ERR INCR option supports a single increment-element pair');
  return { flags, pairs };
}

/** The new score, or null when the flags of ZADD forbid a change. */
function nextScore(flags: ReadonlySet<string>, before: number | undefined, given: number): number | null {
  if (flags.has('NX') && before !== undefined) return null;
  if (flags.has('XX') && before === undefined) return null;
  const next = flags.has('INCR') ? (before ?? 0) + given : given;
  if (Number.isNaN(next)) throw new CommandError('ERR resulting score is not a number (NaN)');
  if (before !== undefined && flags.has('GT') && next <= before) return null;
  if (before !== undefined && flags.has('LT') && next >= before) return null;
  return next;
}

function openScores(keys: KeySpace, key: string): Map<string, number> {
  const found = keys.find(key, 'zset');
  if (found !== undefined) return found.scores;
  const scores = new Map<string, number>();
  keys.put(key, { type: 'zset', scores });
  return scores;
}

function add({ keys }: CommandContext, args: readonly string[]): NodeReply {
  const { flags, pairs } = readAddFlags(args);
  const given = pairs.flatMap((bytes, i) => (i % 2 === 0 ? [floatOf(bytes)] : []));
  const before = scoresAt(keys, at(args, 0));
  if (flags.has('XX') && before.size === 0) return flags.has('INCR') ? null : 0;
  const scores = openScores(keys, at(args, 0));
  let added = 0;
  let changed = 0;
  let last: number | null = null;
  for (const [i, score] of given.entries()) {
    const member = at(pairs, 2 * i + 1);
    const old = scores.get(member);
    last = nextScore(flags, old, score);
    if (last === null) continue;
    if (old === undefined) added += 1;
    else if (old !== last) changed += 1;
    scores.set(member, last);
  }
  if (flags.has('INCR')) return last === null ? null : new Double(last);
  return flags.has('CH') ? added + changed : added;
}

function removeAll(keys: KeySpace, key: string, members: readonly string[]): number {
  const found = keys.find(key, 'zset');
  if (found === undefined) return 0;
  const removed = members.filter((member) => found.scores.delete(member)).length;
  if (found.scores.size === 0) keys.delete(key);
  return removed;
}

function rank(isReverse: boolean): Command['run'] {
  return ({ keys }, args) => {
    const order = sorted(scoresAt(keys, at(args, 0)));
    const index = order.findIndex(([member]) => member === at(args, 1));
    if (index < 0) return null;
    return isReverse ? order.length - 1 - index : index;
  };
}

function popMin({ keys }: CommandContext, args: readonly string[]): NodeReply {
  const count = args.length > 1 ? floatOf(at(args, 1), 'ERR value is out of range, must be positive') : 1;
  const taken: readonly Scored[] = sorted(scoresAt(keys, at(args, 0))).slice(0, count);
  removeAll(
    keys,
    at(args, 0),
    taken.map(([member]) => member),
  );
  return taken.flatMap(([member, score]) => [member, new Double(score)]);
}

export const SORTED_SET_COMMANDS: readonly Command[] = [
  reads('zcard', 1, 1, ({ keys }, args) => scoresAt(keys, at(args, 0)).size),
  reads('zscore', 2, 2, ({ keys }, args) => {
    const score = scoresAt(keys, at(args, 0)).get(at(args, 1));
    return score === undefined ? null : new Double(score);
  }),
  reads('zcount', 3, 3, ({ keys }, args) => {
    const isWithin = withinScores(at(args, 1), at(args, 2), NOT_A_SCORE_RANGE);
    return [...scoresAt(keys, at(args, 0)).values()].filter(isWithin).length;
  }),
  reads('zrank', 2, 2, rank(false)),
  reads('zrevrank', 2, 2, rank(true)),
  reads('zrange', 3, ANY, range),
  reads('zrangebyscore', 3, ANY, (context, args) => rangeByScore(context, args, false)),
  reads('zrevrangebyscore', 3, ANY, (context, args) => rangeByScore(context, args, true)),
  writes('zadd', 3, ANY, add),
  writes('zincrby', 3, 3, (context, args) => add(context, [at(args, 0), 'INCR', at(args, 1), at(args, 2)])),
  writes('zrem', 2, ANY, ({ keys }, args) => removeAll(keys, at(args, 0), args.slice(1))),
  writes('zpopmin', 1, 2, popMin),
  writes('zremrangebyscore', 3, 3, ({ keys }, args) => {
    const isWithin = withinScores(at(args, 1), at(args, 2), NOT_A_SCORE_RANGE);
    const members = [...scoresAt(keys, at(args, 0))].filter(([, score]) => isWithin(score));
    return removeAll(
      keys,
      at(args, 0),
      members.map(([member]) => member),
    );
  }),
];
