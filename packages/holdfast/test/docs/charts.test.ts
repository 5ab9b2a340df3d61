/** The charts of the benchmark, as they are committed: what they show can be read, and is what their titles say. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listFiles, ROOT } from './pages.ts';

/** Of a letter at 12 px, on average; a system font may be wider than this by a tenth, and labels have that room. */
const LETTER_WIDTH = 6.2;

const charts = listFiles('bench/charts', '.svg').map((file) => ({
  file,
  svg: readFileSync(join(ROOT, file), 'utf8'),
}));

describe.each(charts)('$file', ({ svg }) => {
  test('cuts no label off at the left', () => {
    const labels = [...svg.matchAll(/<text x="([\d.]+)"[^>]* text-anchor="end">([^<]*)</g)];
    expect(labels.length).toBeGreaterThan(0);
    for (const [, end, label = ''] of labels) {
      expect(Number(end) - label.length * LETTER_WIDTH, label).toBeGreaterThanOrEqual(0);
    }
  });

  test('cuts nothing off at the right', () => {
    const width = Number(/viewBox="0 0 (\d+)/.exec(svg)?.[1]);
    for (const [, start, label = ''] of svg.matchAll(/<text x="([\d.]+)" y="[\d.]+">([^<]*)</g)) {
      expect(Number(start) + label.length * LETTER_WIDTH, label).toBeLessThanOrEqual(width);
    }
  });
});

test('the chart of commands as waiters grow draws a line from 10 to 10,000 waiters', () => {
  const { svg } = charts.find(({ file }) => file.endsWith('waiters-growth.svg')) ?? { svg: '' };
  const lines = [...svg.matchAll(/<path d="M[\d.]+ [\d.]+((?:L[\d.]+ [\d.]+)+)" fill="none"/g)];
  const steps = lines.map(([, path = '']) => path.split('L').length - 1);
  // Four sizes are three steps; a peer that served nobody at the largest size has two.
  expect(steps.length).toBeGreaterThan(5);
  expect(Math.max(...steps)).toBe(3);
  expect(Math.min(...steps)).toBeGreaterThanOrEqual(2);
});
