/** What the charts share: colours for light and dark pages, text that is safe in SVG, the label of a row. */
import type { Row } from '../table.ts';

export const COLOURS: Readonly<Record<Row['role'], string>> = {
  holdfast: '#2563eb',
  peer: '#9ca3af',
  yardstick: '#d97706',
  control: '#dc2626',
};

export const STYLE =
  '<style>svg{color:#1f2937;font:12px system-ui,sans-serif}text{fill:currentColor}@media(prefers-color-scheme:dark){svg{color:#e5e7eb}}</style>';

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export function labelOf({ name, settings }: Row): string {
  return settings === 'defaults' ? name : `${name}, ${settings}`;
}
