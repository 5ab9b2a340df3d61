/** The present code against an earlier commit, for a terminal. */
import type { BeforeRatio } from '../measure/before-ratio.ts';
import type { Table } from './table.ts';
import { columnsText } from './terminal.ts';

const HEAD = ['participant', 'measure', 'ratio', 'lowest', 'highest', 'now', 'before', 'rounds'];

function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function line({ participant, measure, ratio, now, before, rounds }: BeforeRatio): string[] {
  const ratios = [ratio.median, ratio.low, ratio.high].map((value) => value.toFixed(3));
  return [participant, measure, ...ratios, figure(now), figure(before), String(rounds)];
}

/** Empty for a table that has nothing to compare. */
export function beforeRatiosText({ title, beforeRatios }: Table): string {
  if (beforeRatios.length === 0) return '';
  return `${title}: the present code as a ratio of the commit before, 1 = the same, more = better\n\n${columnsText([HEAD, ...beforeRatios.map(line)])}\n`;
}

/** The line to read first. */
export function lowestRatioText(tables: readonly Table[]): string {
  const all = tables.flatMap(({ id, beforeRatios }) => beforeRatios.map((each) => ({ id, ...each })));
  const [lowest] = all.toSorted((a, b) => a.ratio.median - b.ratio.median);
  if (lowest === undefined) return 'nothing was compared';
  const { id, participant, measure, ratio } = lowest;
  return `lowest median: ${ratio.median.toFixed(3)} (${id}, ${participant}, ${measure})`;
}
