/** Tables that line up and fit. Widths are columns of a terminal: a Chinese character or an emoji takes two. */
import stringWidth from 'string-width';
import { type Line, styled } from './output.ts';
import { printable } from './printable.ts';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  /** @default false */
  readonly isNumber?: boolean;
  /** In a narrow terminal its cells are cut, though not below this width. @default they are not cut */
  readonly least?: number;
  /** In a terminal that is still too narrow, the column with the highest rank is left out. @default it never is */
  readonly rank?: number;
}

/** A column with its cells, and the width that it gets. */
interface SizedColumn<Row> {
  readonly column: Column<Row>;
  readonly cells: readonly string[];
  readonly least: number;
  width: number;
}

const GAP = 2;
const ELLIPSIS = '…';
const segmenter = new Intl.Segmenter();

/** Lines without trailing blanks, of at most `width` columns. */
export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number = Number.POSITIVE_INFINITY,
): Line[] {
  const sized = dropColumns(
    columns.map((column) => sizeColumn(rows, column)),
    width,
  );
  shrink(sized, width);
  const lineOf = (texts: readonly string[]): string => {
    const padded = sized.map((column, at) => pad(texts[at] ?? '', column));
    return cut(padded.join(' '.repeat(GAP)).trimEnd(), width);
  };
  const titles = lineOf(sized.map(({ column }) => column.title));
  const lines = rows.map((_, row) => lineOf(sized.map(({ cells }) => cells[row] ?? '')));
  return [[styled('dim', titles)], ...lines];
}

function sizeColumn<Row>(rows: readonly Row[], column: Column<Row>): SizedColumn<Row> {
  const cells = rows.map((row) => printable(column.cell(row)));
  // Not Math.max(...): a million arguments are too many for one call.
  const width = cells.reduce((most, cell) => Math.max(most, stringWidth(cell)), stringWidth(column.title));
  return { column, cells, width, least: Math.min(width, column.least ?? width) };
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP * (widths.length - 1);
}

function dropColumns<Row>(all: readonly SizedColumn<Row>[], width: number): SizedColumn<Row>[] {
  const [worst] = all
    .filter(({ column: { rank } }) => rank !== undefined)
    .sort((a, b) => (b.column.rank ?? 0) - (a.column.rank ?? 0));
  if (worst === undefined || total(all.map(({ least }) => least)) <= width) return [...all];
  return dropColumns(
    all.filter((one) => one !== worst),
    width,
  );
}

/** Narrows the widest column that is wider than its least, until the table fits. */
function shrink<Row>(sized: readonly SizedColumn<Row>[], width: number): void {
  while (total(sized.map((one) => one.width)) > width) {
    const [widest] = sized.filter((one) => one.width > one.least).sort((a, b) => b.width - a.width);
    if (widest === undefined) return;
    widest.width -= 1;
  }
}

function pad<Row>(text: string, { column, width }: SizedColumn<Row>): string {
  const fitting = cutMiddle(text, width);
  const blanks = ' '.repeat(Math.max(0, width - stringWidth(fitting)));
  return column.isNumber ? blanks + fitting : fitting + blanks;
}

/** At most `width` columns wide; a text that is cut ends with `…`. */
export function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  return width < 1 ? '' : `${take(graphemes(text), width - 1).join('')}${ELLIPSIS}`;
}

/** Cut in the middle, because names differ at their end as often as at their beginning. */
function cutMiddle(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  const parts = graphemes(text);
  const head = take(parts, Math.ceil((width - 1) / 2)).join('');
  const tail = take(parts.reverse(), width - 1 - stringWidth(head));
  return `${head}${ELLIPSIS}${tail.reverse().join('')}`;
}

/** What a person sees as one character: a letter with its accents, a whole emoji. */
function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** As many from the beginning as fit into `width` columns. */
function take(parts: readonly string[], width: number): string[] {
  let room = width;
  const end = parts.findIndex((part) => {
    room -= stringWidth(part);
    return room < 0;
  });
  return end < 0 ? [...parts] : parts.slice(0, end);
}

/** A line with its colours, at most `width` columns wide. */
export function cutLine(line: Line, width: number): Line {
  let room = width;
  const spans = typeof line === 'string' ? [line] : line;
  return spans.map((span) => {
    const text = printable(typeof span === 'string' ? span : span.text);
    const fitting = cut(text, room);
    room -= stringWidth(fitting);
    return typeof span === 'string' ? fitting : styled(span.style, fitting);
  });
}
