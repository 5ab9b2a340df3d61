/** What the charts share: the frame with its title, colours for light and dark pages, escaping, the label of a row. */
import type { Row } from './table.ts';

export const COLOURS: Readonly<Record<Row['role'], string>> = {
  holdfast: '#2563eb',
  peer: '#9ca3af',
  yardstick: '#d97706',
  control: '#dc2626',
};

const STYLE =
  '<style>svg{color:#1f2937;font:12px system-ui,sans-serif}text{fill:currentColor}@media(prefers-color-scheme:dark){svg{color:#e5e7eb}}</style>';

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export function labelOf({ name, settings }: Row): string {
  return settings === 'defaults' ? name : `${name}, ${settings}`;
}

export interface SvgFrame {
  readonly width: number;
  readonly height: number;
  readonly title: string;
  readonly subtitle: string;
}

/** A whole SVG file: two lines of text above the elements of the chart. */
export function svgText({ width, height, title, subtitle }: SvgFrame, elements: readonly string[]): string {
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">`,
    STYLE,
    `<text x="8" y="16" font-size="14" font-weight="600">${escaped(title)}</text>`,
    `<text x="8" y="33" fill-opacity="0.7">${escaped(subtitle)}</text>`,
    ...elements,
    '</svg>',
  ].join('\n')}\n`;
}
