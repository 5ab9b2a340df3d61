/** Tables for a terminal. */
import { figureText, noteText } from './figures.ts';
import type { Table } from './table.ts';

/** Lines of cells in columns of equal width, with a rule below the first line. */
export function columnsText(lines: readonly (readonly string[])[]): string {
  const [head = [], ...body] = lines;
  const widths = head.map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
  const text = (line: readonly string[]): string =>
    line
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  const rule = text(widths.map((width) => '-'.repeat(width)));
  return [text(head), rule, ...body.map(text)].join('\n');
}

export function terminalText({ title, columns, rows }: Table): string {
  const head = ['participant', 'settings', ...columns.map((column) => column.title), ''];
  const lines = rows.map((row) => [
    row.name,
    row.settings,
    ...columns.map((column) => figureText(column, row)),
    noteText(row),
  ]);
  return `${title}\n\n${columnsText([head, ...lines])}\n`;
}
