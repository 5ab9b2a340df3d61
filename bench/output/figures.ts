/** How a figure reads, wherever it is printed. */
import type { Column, Row } from '../table.ts';

export function figureText({ key, digits, hasSpread = false }: Column, { figures }: Row): string {
  const figure = figures[key];
  if (figure === undefined) return '–';
  const { median, low, high } = figure;
  if (!hasSpread) return median.toFixed(digits);
  return `${median.toFixed(digits)} (${low.toFixed(digits)}–${high.toFixed(digits)})`;
}

const NOTE_LENGTH_MAX = 80;

/** What the table cannot show in figures. */
export function noteText({ trouble }: Row): string {
  if (trouble === null) return '';
  // What stands in brackets in an error is for whoever has to find the cause: addresses, servers, causes.
  const plain = trouble.replace(/\s*\([^)]*\)?/g, '').replace(/\s+/g, ' ');
  return plain.length > NOTE_LENGTH_MAX ? `${plain.slice(0, NOTE_LENGTH_MAX)}…` : plain;
}
