/** Figures as text, for the terminal and the page. */
import type { Column, Row } from './table.ts';

export function figureText({ key, digits, hasSpread = false }: Column, { figures }: Row): string {
  const figure = figures[key];
  if (figure === undefined) return '–';
  const { median, low, high } = figure;
  if (!hasSpread) return median.toFixed(digits);
  return `${median.toFixed(digits)} (${low.toFixed(digits)}–${high.toFixed(digits)})`;
}

const NOTE_LENGTH_MAX = 80;

/** Why figures are missing, in short. */
export function noteText({ failure }: Row): string {
  if (failure === null) return '';
  // The brackets of an error hold addresses and causes, which help to debug and do not belong in a table.
  const plain = failure.replace(/\s*\([^)]*\)?/g, '').replace(/\s+/g, ' ');
  return plain.length > NOTE_LENGTH_MAX ? `${plain.slice(0, NOTE_LENGTH_MAX)}…` : plain;
}
