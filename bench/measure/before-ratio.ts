/**
 * The present code against an earlier commit, round by round. A ratio above 1 is in favour of the present code, whether
 * the measure counts work in a time or time for some work.
 */
import type { Outcome } from './outcome.ts';
import { median, type Summary, summarise } from './statistics.ts';

export interface ComparedMeasure {
  readonly key: string;
  readonly title: string;
  readonly better: 'more' | 'less';
}

export interface BeforeRatio {
  readonly participant: string;
  readonly measure: string;
  /** Of the rounds in which both were measured. */
  readonly ratio: Summary;
  readonly rounds: number;
  /** Medians of the measure itself. */
  readonly now: number;
  readonly before: number;
}

/** Empty unless participants of an earlier commit took part. */
export function beforeRatios(
  outcomes: readonly Outcome[],
  compared: readonly ComparedMeasure[],
): BeforeRatio[] {
  return outcomes.flatMap((before) => {
    const now = outcomes.find(({ participant }) => participant.id === before.participant.beforeOf);
    return now === undefined ? [] : compared.map((measure) => ratioOf(now, before, measure));
  });
}

function ratioOf(now: Outcome, before: Outcome, { key, title, better }: ComparedMeasure): BeforeRatio {
  const pairs = now.rounds.flatMap((round, i) => {
    const [own, other] = [round?.[key], before.rounds[i]?.[key]];
    return own === undefined || other === undefined ? [] : [{ own, other }];
  });
  const ratios = pairs.map(({ own, other }) => (better === 'more' ? own / other : other / own));
  const { name, settings } = now.participant;
  return {
    participant: settings === 'defaults' ? name : `${name}, ${settings}`,
    measure: title,
    ratio: summarise(ratios),
    rounds: pairs.length,
    now: median(pairs.map(({ own }) => own)),
    before: median(pairs.map(({ other }) => other)),
  };
}
