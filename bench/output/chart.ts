/**
 * A bar chart of one column as SVG: a bar a contestant from zero to the median, a whisker from the lowest to the
 * highest round. Drawn for light and dark pages alike, with the figure beside every bar.
 */
import type { Summary } from '../statistics.ts';
import type { Row, Table } from '../table.ts';

const WIDTH = 860;
const LABEL_WIDTH = 330;
const FIGURE_WIDTH = 90;
const ROW_HEIGHT = 24;
const BAR_HEIGHT = 14;
const TOP = 44;

const COLOURS: Readonly<Record<Row['role'], string>> = {
  holdfast: '#2563eb',
  peer: '#9ca3af',
  yardstick: '#d97706',
  control: '#dc2626',
};

interface Bar {
  readonly row: Row;
  readonly figure: Summary;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function barText(
  { row, figure }: Bar,
  index: number,
  scale: (value: number) => number,
  digits: number,
): string {
  const y = TOP + index * ROW_HEIGHT;
  const middle = y + BAR_HEIGHT / 2;
  const end = scale(figure.median);
  const label = `${row.name}${row.settings === 'defaults' ? '' : `, ${row.settings}`}`;
  const whisker = `M${scale(figure.low).toFixed(1)} ${middle}H${scale(figure.high).toFixed(1)}`;
  return [
    `<text x="${LABEL_WIDTH - 8}" y="${middle + 4}" text-anchor="end">${escaped(label)}</text>`,
    `<rect x="${LABEL_WIDTH}" y="${y}" width="${Math.max(1, end - LABEL_WIDTH).toFixed(1)}" height="${BAR_HEIGHT}" rx="2" fill="${COLOURS[row.role]}"/>`,
    `<path d="${whisker}" stroke="currentColor" stroke-opacity="0.6"/>`,
    `<text x="${(Math.max(end, scale(figure.high)) + 6).toFixed(1)}" y="${middle + 4}">${figure.median.toFixed(digits)}</text>`,
  ].join('\n');
}

/** Null when nobody has a figure to draw. */
export function chartText({ title, columns, rows, chart }: Table): string | null {
  const column = columns.find(({ key }) => key === chart);
  // The control excludes nobody; its speed would only dwarf what is compared.
  const bars = rows.flatMap((row): Bar[] => {
    const figure = row.figures[chart];
    return figure === undefined || row.role === 'control' ? [] : [{ row, figure }];
  });
  if (column === undefined || bars.length === 0) return null;
  const largest = Math.max(...bars.map(({ figure }) => figure.high), Number.MIN_VALUE);
  const room = WIDTH - LABEL_WIDTH - FIGURE_WIDTH;
  const scale = (value: number): number => LABEL_WIDTH + (value / largest) * room;
  const height = TOP + bars.length * ROW_HEIGHT + 8;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}">`,
    '<style>svg{color:#1f2937;font:12px system-ui,sans-serif}text{fill:currentColor}@media(prefers-color-scheme:dark){svg{color:#e5e7eb}}</style>',
    `<text x="8" y="16" font-size="14" font-weight="600">${escaped(title)}</text>`,
    `<text x="8" y="33" fill-opacity="0.7">${escaped(column.title)}</text>`,
    ...bars.map((bar, i) => barText(bar, i, scale, column.digits)),
    '</svg>',
  ].join('\n')}\n`;
}
