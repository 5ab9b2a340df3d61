/** ZRANGE, ZRANGEBYSCORE and ZREVRANGEBYSCORE. */

import { notImplemented, syntaxError } from '../../protocol/command-error.ts';
import { integerOf } from '../../protocol/number-text.ts';
import { Double, type NodeReply, Scores } from '../../protocol/reply.ts';
import { at, type CommandContext } from '../command.ts';
import { NOT_A_SCORE_RANGE, type Scored, scoresAt, sorted, withinScores } from './score-order.ts';

interface RangeTerms {
  withScores: boolean;
  byScore: boolean;
  isReverse: boolean;
  offset: number;
  count: number;
  hasLimit: boolean;
}

function readTerms(args: readonly string[], isOld: boolean): RangeTerms {
  const terms: RangeTerms = {
    withScores: false,
    byScore: isOld,
    isReverse: false,
    offset: 0,
    count: -1,
    hasLimit: false,
  };
  for (let i = 3; i < args.length; i += 1) {
    const option = at(args, i).toUpperCase();
    if (option === 'WITHSCORES') {
      terms.withScores = true;
    } else if (option === 'LIMIT' && i + 2 < args.length) {
      terms.offset = integerOf(at(args, i + 1));
      terms.count = integerOf(at(args, i + 2));
      terms.hasLimit = true;
      i += 2;
    } else if (option === 'BYSCORE' && !isOld) {
      terms.byScore = true;
    } else if (option === 'REV' && !isOld) {
      terms.isReverse = true;
    } else if (option === 'BYLEX' && !isOld) {
      throw notImplemented('ZRANGE BYLEX');
    } else {
      throw syntaxError();
    }
  }
  return terms;
}

function present(chosen: readonly Scored[], withScores: boolean): NodeReply {
  if (!withScores) return chosen.map(([member]) => member);
  return new Scores(chosen.flatMap(([member, score]) => [member, new Double(score)]));
}

function byScore({ keys }: CommandContext, args: readonly string[], terms: RangeTerms): NodeReply {
  const [min, max] = terms.isReverse ? [at(args, 2), at(args, 1)] : [at(args, 1), at(args, 2)];
  const isWithin = withinScores(min, max, NOT_A_SCORE_RANGE);
  const order = sorted(scoresAt(keys, at(args, 0))).filter(([, score]) => isWithin(score));
  if (terms.isReverse) order.reverse();
  if (terms.offset < 0) return [];
  const end = terms.count < 0 ? order.length : terms.offset + terms.count;
  return present(order.slice(terms.offset, end), terms.withScores);
}

export function rangeByScore(
  context: CommandContext,
  args: readonly string[],
  isReverse: boolean,
): NodeReply {
  return byScore(context, args, { ...readTerms(args, true), isReverse });
}

export function range(context: CommandContext, args: readonly string[]): NodeReply {
  const terms = readTerms(args, false);
  if (terms.byScore) return byScore(context, args, terms);
  if (terms.hasLimit) throw syntaxError();
  const start = integerOf(at(args, 1));
  const stop = integerOf(at(args, 2));
  const order = sorted(scoresAt(context.keys, at(args, 0)));
  if (terms.isReverse) order.reverse();
  const from = Math.max(0, start < 0 ? order.length + start : start);
  const to = stop < 0 ? order.length + stop : stop;
  return present(order.slice(from, Math.max(from, to + 1)), terms.withScores);
}
