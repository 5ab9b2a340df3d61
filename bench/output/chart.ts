/**
 * A bar chart of one column as SVG: for each participant a bar from zero to the median, and a whisker from the lowest
 * to the highest round, with the figure beside it.
 */
import type { Summary } from '../measure/statistics.ts';
import { COLOURS, escaped, labelOf, svgText } from './svg.ts';
import type { Row, Table } from './table.ts';

/** From the labels to the end of the longest whisker. */
const BARS_WIDTH = 440;
const FIGURE_WIDTH = 90;
/** Mean width of a 12 px letter, with room for wide fonts: no label is cut off. */
const LETTER_WIDTH = 6.8;
const LABEL_WIDTH_MIN = 200;
const ROW_HEIGHT = 24;
const BAR_HEIGHT = 14;
const TOP = 44;

interface Bar {
  readonly row: Row;
  readonly figure: Summary;
}

/** The horizontal layout, which depends on the longest label. */
interface Layout {
  readonly labelWidth: number;
  readonly scale: (value: number) => number;
}

function barText({ row, figure }: Bar, index: number, { labelWidth, scale }: Layout, digits: number): string {
  const y = TOP + index * ROW_HEIGHT;
  const middle = y + BAR_HEIGHT / 2;
  const end = scale(figure.median);
  const whisker = `M${scale(figure.low).toFixed(1)} ${middle}H${scale(figure.high).toFixed(1)}`;
  return [
    `<text x="${labelWidth - 8}" y="${middle + 4}" text-anchor="end">${escaped(labelOf(row))}</text>`,
    `<rect x="${labelWidth}" y="${y}" width="${Math.max(1, end - labelWidth).toFixed(1)}" height="${BAR_HEIGHT}" rx="2" fill="${COLOURS[row.role]}"/>`,
    `<path d="${whisker}" stroke="currentColor" stroke-opacity="0.6"/>`,
    `<text x="${(Math.max(end, scale(figure.high)) + 6).toFixed(1)}" y="${middle + 4}">${figure.median.toFixed(digits)}</text>`,
  ].join('\n');
}

/** Null when no row has a figure to draw. */
export function chartText({ title, columns, rows, chart }: Table): string | null {
  const column = columns.find(({ key }) => key === chart);
  // The control takes no lock: its speed would dwarf every other bar.
  const bars = rows.flatMap((row): Bar[] => {
    const figure = row.figures[chart];
    return figure === undefined || row.role === 'control' ? [] : [{ row, figure }];
  });
  if (column === undefined || bars.length === 0) return null;
  const largest = Math.max(...bars.map(({ figure }) => figure.high), Number.MIN_VALUE);
  const longest = Math.max(...bars.map(({ row }) => labelOf(row).length));
  const labelWidth = Math.ceil(Math.max(LABEL_WIDTH_MIN, longest * LETTER_WIDTH + 16));
  const scale = (value: number): number => labelWidth + (value / largest) * BARS_WIDTH;
  const width = labelWidth + BARS_WIDTH + FIGURE_WIDTH;
  const height = TOP + bars.length * ROW_HEIGHT + 8;
  return svgText(
    { width, height, title, subtitle: column.title },
    bars.map((bar, i) => barText(bar, i, { labelWidth, scale }, column.digits)),
  );
}
