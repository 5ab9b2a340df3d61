/**
 * Everything that is printed passes through here. A line is data until `render`, which first escapes what could steer a
 * terminal and then adds our colours, on terminals only.
 */
import { styleText } from 'node:util';
import { printableJson } from 'holdfast';
import { withoutLogins } from './logins.ts';
import { printable } from './printable.ts';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

export interface Span {
  readonly style: Style;
  readonly text: string;
}

/** One line as its pieces. A line end within a piece is shown as an escape. */
export type Line = string | readonly (string | Span)[];

export function styled(style: Style, text: string): Span {
  return { style, text };
}

/** As it is written to that stream. Colours are off where there is no terminal, and with NO_COLOR. */
export function render(line: Line, stream: NodeJS.WriteStream): string {
  const spans = typeof line === 'string' ? [line] : line;
  return spans
    .map((span) =>
      typeof span === 'string'
        ? printable(span)
        : styleText(span.style, printable(span.text), { stream, validateStream: true }),
    )
    .join('');
}

export function printLines(lines: readonly Line[]): void {
  if (lines.length === 0) return;
  process.stdout.write(`${lines.map((line) => render(line, process.stdout)).join('\n')}\n`);
}

export function printJson(value: unknown): void {
  process.stdout.write(`${printableJson(value)}\n`);
}

/** The message without logins: those of our own command line, and those in URLs. */
export function withoutOwnLogins(message: string): string {
  return withoutLogins(message, process.argv.slice(2));
}

/** One line on standard error. */
export function printNotice(message: string): void {
  process.stderr.write(`holdfast: ${printable(withoutOwnLogins(message))}\n`);
}

/** Lines below a notice: the frames of a stack, a suggestion. */
export function printNoticeLines(lines: readonly string[]): void {
  for (const line of lines) process.stderr.write(`${printable(withoutOwnLogins(line))}\n`);
}
