/** One measure as something grows, side by side: a column for each size. */
import type { Outcome } from '../measure/outcome.ts';
import { GROWTH_CHART } from './growth-chart.ts';
import { type Table, tableOf } from './table.ts';

export interface Growth {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  /** The measure to show. */
  readonly key: string;
  /** What grows, in the plural. */
  readonly growing: string;
}

/** A row for each participant that was measured at the smallest size. */
export function growthTable(
  { key, growing, ...head }: Growth,
  measured: ReadonlyMap<number, readonly Outcome[]>,
): Table {
  const [first = []] = measured.values();
  const outcomes = first.map(({ participant, rounds }): Outcome => {
    const own = [...measured].map(([size, outcomes]) => ({
      size,
      outcome: outcomes.find((outcome) => outcome.participant === participant),
    }));
    return {
      participant,
      failure: null,
      rounds: rounds.map((_, round) =>
        Object.fromEntries(
          own.map(({ size, outcome }) => [String(size), outcome?.rounds[round]?.[key] ?? Number.NaN]),
        ),
      ),
    };
  });
  return tableOf(
    {
      ...head,
      growing,
      columns: [...measured.keys()].map((size) => ({
        key: String(size),
        title: `${size.toLocaleString('en')} ${growing}`,
        digits: 2,
      })),
      chart: GROWTH_CHART,
      compared: [],
    },
    outcomes.filter(({ rounds }) => rounds.some((round) => Object.values(round ?? {}).some(Number.isFinite))),
  );
}
