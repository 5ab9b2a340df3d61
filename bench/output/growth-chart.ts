/**
 * How a cost grows, as SVG: one line for each participant over the columns of a table. Both axes are logarithmic: a
 * flat line is a cost that does not grow, a slope of 1 a cost in proportion. Labels stand at the right ends of the lines.
 */

import { COLOURS, escaped, labelOf, svgText } from './svg.ts';
import type { Row, Table } from './table.ts';

/** The value of `Table.chart` that asks for this chart. */
export const GROWTH_CHART = 'growth';

const LEFT = 64;
const TOP = 52;
const PLOT_WIDTH = 420;
const PLOT_HEIGHT = 320;
const LABELS_WIDTH = 460;
const LABEL_HEIGHT = 15;

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Line {
  readonly row: Row;
  readonly points: readonly Point[];
}

interface Axis {
  readonly low: number;
  readonly high: number;
}

/** The powers of ten around the values. */
function axisOf(values: readonly number[]): Axis {
  const exponents = values.map((value) => Math.log10(value));
  const low = Math.floor(Math.min(...exponents));
  return { low, high: Math.max(low + 1, Math.ceil(Math.max(...exponents))) };
}

function share({ low, high }: Axis, value: number): number {
  return (Math.log10(value) - low) / (high - low);
}

function powers({ low, high }: Axis): number[] {
  return Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step));
}

/** Each label stands as near to the end of its line as the label above leaves room for. */
function labelHeights(lines: readonly Line[]): number[] {
  let lowest = TOP - LABEL_HEIGHT;
  return lines.map(({ points }) => {
    lowest = Math.max(points.at(-1)?.y ?? 0, lowest + LABEL_HEIGHT);
    return lowest;
  });
}

function lineText({ row, points }: Line, labelY: number): string {
  const colour = COLOURS[row.role];
  const path = points.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
  const end = points.at(-1) as Point;
  const labelX = LEFT + PLOT_WIDTH + 24;
  return [
    `<path d="${path}" fill="none" stroke="${colour}" stroke-width="${row.role === 'holdfast' ? 3 : 1.5}"/>`,
    ...points.map(({ x, y }) => `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3" fill="${colour}"/>`),
    `<path d="M${(end.x + 5).toFixed(1)} ${end.y.toFixed(1)}L${labelX - 4} ${labelY.toFixed(1)}" stroke="${colour}" stroke-opacity="0.6"/>`,
    `<text x="${labelX}" y="${(labelY + 4).toFixed(1)}">${escaped(labelOf(row))}</text>`,
  ].join('\n');
}

/** Null when no row has a figure to draw. */
export function growthChartText({ title, columns, rows, growing = '' }: Table): string | null {
  const drawn = rows.filter(({ role }) => role !== 'control');
  const medians = drawn.map((row) =>
    columns.flatMap(({ key }) => {
      const value = row.figures[key]?.median ?? 0;
      return value > 0 ? [{ size: Number(key), value }] : [];
    }),
  );
  const values = medians.flat().map(({ value }) => value);
  if (values.length === 0) return null;
  const across = axisOf(columns.map(({ key }) => Number(key)));
  const up = axisOf(values);
  const xOf = (size: number): number => LEFT + share(across, size) * PLOT_WIDTH;
  const yOf = (value: number): number => TOP + (1 - share(up, value)) * PLOT_HEIGHT;
  const lines = drawn
    .map(
      (row, i): Line => ({
        row,
        points: (medians[i] ?? []).map(({ size, value }) => ({ x: xOf(size), y: yOf(value) })),
      }),
    )
    .filter(({ points }) => points.length > 0)
    .sort((a, b) => (a.points.at(-1)?.y ?? 0) - (b.points.at(-1)?.y ?? 0));
  const labels = labelHeights(lines);
  const bottom = TOP + PLOT_HEIGHT;
  const height = Math.max(bottom + 40, (labels.at(-1) ?? 0) + LABEL_HEIGHT);
  const right = LEFT + PLOT_WIDTH;
  const frame = {
    width: right + LABELS_WIDTH,
    height: Math.ceil(height),
    title,
    subtitle: 'both axes are logarithmic: a flat line does not grow',
  };
  return svgText(frame, [
    ...powers(up).map(
      (value) =>
        `<path d="M${LEFT} ${yOf(value).toFixed(1)}H${right}" stroke="currentColor" stroke-opacity="0.15"/><text x="${LEFT - 8}" y="${(yOf(value) + 4).toFixed(1)}" text-anchor="end">${value.toLocaleString('en')}</text>`,
    ),
    ...columns.map(
      ({ key }) =>
        `<text x="${xOf(Number(key)).toFixed(1)}" y="${bottom + 18}" text-anchor="middle">${Number(key).toLocaleString('en')}</text>`,
    ),
    `<text x="${LEFT + PLOT_WIDTH / 2}" y="${bottom + 34}" text-anchor="middle" fill-opacity="0.7">${escaped(growing)}</text>`,
    ...lines.map((line, i) => lineText(line, labels[i] ?? 0)),
  ]);
}
