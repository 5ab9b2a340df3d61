/** A scenario's result as rows of figures, the same for the terminal, the page, the charts and JSON. */

import { type BeforeRatio, beforeRatios, type ComparedMeasure } from '../measure/before-ratio.ts';
import type { Measures, Outcome } from '../measure/outcome.ts';
import { type Summary, summarise } from '../measure/statistics.ts';
import type { Participant } from '../participants/participant.ts';

export interface Column {
  /** The measure that the column shows. */
  readonly key: string;
  readonly title: string;
  readonly digits: number;
  /** Whether to show the lowest and highest round too. */
  readonly hasSpread?: boolean;
  /** Shows the sum of the rounds instead of their median. */
  readonly isTotal?: boolean;
}

export interface Row {
  readonly id: string;
  readonly name: string;
  readonly settings: string;
  readonly role: Participant['role'];
  readonly figures: Readonly<Record<string, Summary>>;
  /** Why there is no figure, or not for all rounds. */
  readonly failure: string | null;
}

export interface Table {
  readonly id: string;
  readonly title: string;
  /** What was measured, and what it is compared with. */
  readonly about: string;
  readonly rounds: number;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** The key of the column to draw as bars. `growth` draws all columns as lines, with their keys on the x axis. */
  readonly chart: string;
  /** What grows along the x axis of a growth chart, in the plural. */
  readonly growing?: string;
  /** The present code against an earlier commit, when one took part. */
  readonly beforeRatios: readonly BeforeRatio[];
}

function figure(values: readonly number[], isTotal: boolean): Summary {
  if (!isTotal) return summarise(values);
  const total = values.reduce((all, value) => all + value, 0);
  return { median: total, low: total, high: total };
}

function rowOf({ participant, rounds, failure }: Outcome, columns: readonly Column[]): Row {
  const measured = rounds.filter((measures): measures is Measures => measures !== null);
  const figures: Record<string, Summary> = {};
  for (const { key, isTotal = false } of columns) {
    const values = measured.map((measures) => measures[key] ?? Number.NaN).filter(Number.isFinite);
    if (values.length > 0) figures[key] = figure(values, isTotal);
  }
  const { id, name, settings, role } = participant;
  return { id, name, settings, role, figures, failure };
}

/** What a scenario says of its table: texts, columns, and the measures that count against an earlier commit. */
type TableHead = Omit<Table, 'rows' | 'rounds' | 'beforeRatios'> & {
  readonly compared: readonly ComparedMeasure[];
};

export function tableOf({ compared, ...head }: TableHead, outcomes: readonly Outcome[]): Table {
  return {
    ...head,
    rounds: outcomes[0]?.rounds.length ?? 0,
    rows: outcomes.map((outcome) => rowOf(outcome, head.columns)),
    beforeRatios: beforeRatios(outcomes, compared),
  };
}
