/** Compares what a program printed with what a page says it prints, where `…` stands for anything in a line. */
import { expect } from 'vitest';

export function expectPrinted(printed: string, shown: string): void {
  const lines = printed.trimEnd().split('\n');
  const patterns = shown.trimEnd().split('\n');
  // A line that fits is shown as the page has it, so that a difference shows only the lines that do not.
  const asShown = lines.map((line, index) => {
    const pattern = patterns[index];
    return pattern !== undefined && fits(line, pattern) ? pattern : line;
  });
  expect(asShown.join('\n')).toBe(patterns.join('\n'));
}

function fits(line: string, pattern: string): boolean {
  const parts = pattern.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(line);
}
