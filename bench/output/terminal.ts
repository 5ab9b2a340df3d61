/** Tables for a terminal. */
import type { Table } from '../table.ts';
import { figureText, noteText } from './figures.ts';

export function terminalText({ title, columns, rows }: Table): string {
  const head = ['contestant', 'settings', ...columns.map((column) => column.title), ''];
  const lines = rows.map((row) => [
    row.name,
    row.settings,
    ...columns.map((column) => figureText(column, row)),
    noteText(row),
  ]);
  const widths = head.map((cell, i) => Math.max(cell.length, ...lines.map((line) => line[i]?.length ?? 0)));
  const text = (line: readonly string[]): string =>
    line
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  const rule = text(widths.map((width) => '-'.repeat(width)));
  return `${title}\n\n${[text(head), rule, ...lines.map(text)].join('\n')}\n`;
}
