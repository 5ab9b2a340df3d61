/**
 * Writes the page, its charts and every figure. A full run of all scenarios replaces the committed results and the
 * generated rows of the README. With `--publish` a full run of some scenarios replaces their part of them. Any other run is
 * written into `bench/out`, which is not committed.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Machine } from '../measure/machine.ts';
import { chartText } from './chart.ts';
import { GROWTH_CHART, growthChartText } from './growth-chart.ts';
import { pageText, pageWith } from './markdown.ts';
import { withResults } from './readme.ts';
import type { Table } from './table.ts';

const BENCH = fileURLToPath(new URL('..', import.meta.url));
/** The results of the last run. Git ignores this folder. */
const OUT = join(BENCH, 'out');
const CHARTS = 'charts';
const README = join(BENCH, '../README.md');

export interface Report {
  readonly machine: Machine;
  readonly isQuick: boolean;
  readonly tables: readonly Table[];
}

/** Which of the committed results a run replaces. */
export type Published = 'all' | 'its own' | 'none';

/** Resolves with the path of the page. */
export async function writeReport(report: Report, published: Published): Promise<string> {
  const folder = published === 'none' ? OUT : BENCH;
  if (published !== 'its own') await rm(join(folder, CHARTS), { recursive: true, force: true });
  await mkdir(join(folder, CHARTS), { recursive: true });
  const charts = new Map<string, string>();
  for (const table of report.tables) {
    const chart = table.chart === GROWTH_CHART ? growthChartText(table) : chartText(table);
    if (chart === null) continue;
    charts.set(table.id, `${CHARTS}/${table.id}.svg`);
    await writeFile(join(folder, CHARTS, `${table.id}.svg`), chart);
  }
  const path = join(folder, 'RESULTS.md');
  const options = { ...report, charts };
  const text =
    published === 'its own'
      ? pageWith(await readFile(path, 'utf8'), report.tables, options)
      : pageText(report.tables, options);
  await writeFile(path, text);
  if (published !== 'none')
    await writeFile(README, withResults(await readFile(README, 'utf8'), report.tables));
  // Every figure of every round: the page holds medians and spreads only.
  await mkdir(OUT, { recursive: true });
  await writeFile(join(OUT, 'results.json'), `${JSON.stringify(report, null, 2)}\n`);
  return path;
}
