/** Tables that line up and fit. Widths are columns of a terminal: a Chinese character or an emoji takes two. */
import stringWidth from 'string-width';
import { type Line, styled } from './output.ts';
import { printable } from './printable.ts';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  /** @default false */
  readonly isNumber?: boolean;
  /** Where there is no room, its cells are cut, though not below this width. @default they are not cut */
  readonly least?: number;
  /** Where there is still no room, the column with the highest rank is left out. @default it never is */
  readonly rank?: number;
}

/** A column with its cells, and the room that it gets. */
interface Laid<Row> {
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
  const laid = leaveOut(
    columns.map((column) => layOut(rows, column)),
    width,
  );
  shrink(laid, width);
  const lineOf = (texts: readonly string[]): string => {
    const padded = laid.map((column, at) => pad(texts[at] ?? '', column));
    return cut(padded.join(' '.repeat(GAP)).trimEnd(), width);
  };
  const titles = lineOf(laid.map(({ column }) => column.title));
  const lines = rows.map((_, row) => lineOf(laid.map(({ cells }) => cells[row] ?? '')));
  return [[styled('dim', titles)], ...lines];
}

function layOut<Row>(rows: readonly Row[], column: Column<Row>): Laid<Row> {
  const cells = rows.map((row) => printable(column.cell(row)));
  // A loop: a spread of a million cells is more than a call can take.
  const width = cells.reduce((most, cell) => Math.max(most, stringWidth(cell)), stringWidth(column.title));
  return { column, cells, width, least: Math.min(width, column.least ?? width) };
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP * (widths.length - 1);
}

function leaveOut<Row>(all: readonly Laid<Row>[], width: number): Laid<Row>[] {
  const [worst] = all
    .filter(({ column: { rank } }) => rank !== undefined)
    .sort((a, b) => (b.column.rank ?? 0) - (a.column.rank ?? 0));
  if (worst === undefined || total(all.map(({ least }) => least)) <= width) return [...all];
  return leaveOut(
    all.filter((one) => one !== worst),
    width,
  );
}

/** Takes from the widest of those that can give. */
function shrink<Row>(laid: readonly Laid<Row>[], width: number): void {
  while (total(laid.map((one) => one.width)) > width) {
    const [widest] = laid.filter((one) => one.width > one.least).sort((a, b) => b.width - a.width);
    if (widest === undefined) return;
    widest.width -= 1;
  }
}

function pad<Row>(text: string, { column, width }: Laid<Row>): string {
  const fitting = cutMiddle(text, width);
  const blanks = ' '.repeat(Math.max(0, width - stringWidth(fitting)));
  return column.isNumber ? blanks + fitting : fitting + blanks;
}

/** At most that wide. What is cut ends with `…`. */
export function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  return width < 1 ? '' : `${take(graphemes(text), width - 1).join('')}${ELLIPSIS}`;
}

/** The end of a name tells it from its neighbours as often as its beginning does. */
function cutMiddle(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  const parts = graphemes(text);
  const head = take(parts, Math.ceil((width - 1) / 2)).join('');
  const tail = take(parts.reverse(), width - 1 - stringWidth(head));
  return `${head}${ELLIPSIS}${tail.reverse().join('')}`;
}

/** What a person takes for one character: with its accents, and an emoji whole. */
function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** As many from the beginning as fit. */
function take(parts: readonly string[], width: number): string[] {
  let room = width;
  const end = parts.findIndex((part) => {
    room -= stringWidth(part);
    return room < 0;
  });
  return end < 0 ? [...parts] : parts.slice(0, end);
}

/** A line with its colours, at most that wide. */
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
