/** A scenario's result as rows of figures, the same for the terminal, the page, the charts and JSON. */
import type { Entrant } from './contestant.ts';
import type { Measures, Outcome } from './rounds.ts';
import { type Summary, summarise } from './statistics.ts';

export interface Column {
  /** The measure it shows. */
  readonly key: string;
  readonly title: string;
  readonly digits: number;
  /** Whether to show the lowest and highest round too. */
  readonly hasSpread?: boolean;
  /** Added up over the rounds instead of the median of them. */
  readonly isTotal?: boolean;
}

export interface Row {
  readonly id: string;
  readonly name: string;
  readonly settings: string;
  readonly role: Entrant['role'];
  readonly figures: Readonly<Record<string, Summary>>;
  /** Why there is no figure, or not for all rounds. */
  readonly trouble: string | null;
}

export interface Table {
  readonly id: string;
  readonly title: string;
  /** What was done and what it is compared with. */
  readonly about: string;
  readonly rounds: number;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** The column to draw as bars; `growth` draws all columns as lines, each column's key being the number on the x axis. */
  readonly chart: string;
}

function figure(values: readonly number[], isTotal: boolean): Summary {
  if (!isTotal) return summarise(values);
  const total = values.reduce((all, value) => all + value, 0);
  return { median: total, low: total, high: total };
}

function rowOf({ entrant, rounds, trouble }: Outcome, columns: readonly Column[]): Row {
  const played = rounds.filter((measures): measures is Measures => measures !== null);
  const figures: Record<string, Summary> = {};
  for (const { key, isTotal = false } of columns) {
    const values = played.map((measures) => measures[key] ?? Number.NaN).filter(Number.isFinite);
    if (values.length > 0) figures[key] = figure(values, isTotal);
  }
  const { id, name, settings, role } = entrant;
  return { id, name, settings, role, figures, trouble };
}

export function tableOf(head: Omit<Table, 'rows' | 'rounds'>, outcomes: readonly Outcome[]): Table {
  const rounds = outcomes[0]?.rounds.length ?? 0;
  return { ...head, rounds, rows: outcomes.map((outcome) => rowOf(outcome, head.columns)) };
}
