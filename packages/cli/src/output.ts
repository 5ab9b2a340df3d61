/** How things look: colours on a terminal only, tables that line up, nothing from Redis that could steer a terminal. */

/** What a stream can show. https://no-color.org: any value that is not empty turns colours off. */
function hasColours(stream: { readonly isTTY?: boolean }, environment = process.env): boolean {
  return stream.isTTY === true && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb';
}

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

const CODES: Readonly<Record<Style, number>> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };

export type Paint = (style: Style, text: string) => string;

export function paintFor(stream: { readonly isTTY?: boolean }): Paint {
  if (!hasColours(stream)) return (_style, text) => text;
  return (style, text) => `\u001b[${CODES[style]}m${text}\u001b[0m`;
}

/** Names are any bytes that somebody chose. Those that are no text are shown as escapes. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  /** @default false */
  readonly isNumber?: boolean;
}

/** Lines without a trailing blank; each cut to `width` columns when given. */
export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  paint: Paint,
  width = Number.POSITIVE_INFINITY,
): string[] {
  const cells = rows.map((row) => columns.map(({ cell }) => printable(cell(row))));
  const widths = columns.map(({ title }, at) =>
    Math.max(title.length, ...cells.map((line) => line[at]?.length ?? 0)),
  );
  const lineOf = (line: readonly string[]): string =>
    line
      .map((text, at) =>
        columns[at]?.isNumber ? text.padStart(widths[at] ?? 0) : text.padEnd(widths[at] ?? 0),
      )
      .join('  ')
      .trimEnd();
  const titles = lineOf(columns.map(({ title }) => title));
  return [paint('dim', cut(titles, width)), ...cells.map((line) => cut(lineOf(line), width))];
}

export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

export function printLines(lines: readonly string[]): void {
  if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
