/** Tables of ratios for a terminal. Bare times are not shown: on a busy machine they mean nothing. */
import type { OneCallerRow } from './scenarios/one-caller.ts';
import type { WaitersRow } from './scenarios/waiters.ts';
import type { Summary } from './statistics.ts';

function figure({ median, low, high }: Summary): string {
  return `${median.toFixed(2)}  (${low.toFixed(2)} … ${high.toFixed(2)})`;
}

function table(title: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  return [title, '', line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line), ''].join(
    '\n',
  );
}

export function oneCallerTable(rows: readonly OneCallerRow[]): string {
  const cells = rows.map(({ name, yardstick, ratio }) => [name, figure(ratio), yardstick]);
  return table('One caller, uncontended acquire + release', ['contestant', 'speed ratio', 'to'], cells);
}

export function waitersTable(rows: readonly WaitersRow[], count: number): string {
  const cells = rows.map(({ name, ratio, commands, violations }) => [
    name,
    figure(ratio),
    figure(commands),
    String(violations),
  ]);
  const head = ['contestant', 'speed ratio', 'commands each', 'violations'];
  return table(`${count} waiters on one key in one process, empty section`, head, cells);
}
