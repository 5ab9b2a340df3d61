/** `/metrics` has every figure that a rule for Prometheus asks for, and the docs name every figure that it has. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { alertMetrics } from '../../src/alerts/metrics.ts';
import { RULES } from '../../src/alerts/rules/table.ts';
import { renderMetrics } from '../../src/http/metrics.ts';
import { AT, card, type FiguresGiven, figures, row } from './support/figures.ts';

const DOCS = join(import.meta.dirname, '../../../../docs/operate/monitoring.md');

/** A fleet that is everything at once, so that nothing is left out. */
const FULL: FiguresGiven = {
  locks: [row()],
  longestLeaseMs: 30_000,
  topology: {
    quorum: { voters: 3, needed: 2, of: 3 },
    slotsOk: 16_384,
    sentinels: { up: 3, quorum: 2, known: 3 },
  },
};

function render(given: FiguresGiven): string {
  const own = alertMetrics({
    fleet: 'shop',
    views: [],
    waiting: [{ receiver: 'ops', ageMs: 1_000 }],
    isConfigGood: true,
    isLeading: true,
    isStateAway: false,
  });
  return renderMetrics(figures(given), own, '1.0.0', null);
}

function namesIn(text: string): string[] {
  return [...new Set([...text.matchAll(/^holdfast_monitor_(\w+)\{/gm)].map(([, name = '']) => name))].sort();
}

function sampleOf(text: string, name: string): number {
  return Number(new RegExp(`^holdfast_monitor_${name}\\{.*\\} (.*)$`, 'm').exec(text)?.[1]);
}

test('every figure in the twin of a rule is rendered', () => {
  const asked = RULES.flatMap(({ twin }) => [...twin.matchAll(/holdfast_monitor_(\w+)/g)]);
  const known = new Set(namesIn(render(FULL)));
  expect(asked.length).toBeGreaterThan(20);
  expect(asked.map(([, name = '']) => name).filter((name) => !known.has(name))).toEqual([]);
});

test('the docs name every figure, and none that is not there', () => {
  const [, table = ''] = /\n## Metrics\n([\s\S]*?)\n## /.exec(readFileSync(DOCS, 'utf8')) ?? [];
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  const told = rows.flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`(\w+)(?:\{\w+\})?`/g)]);
  expect(told.map(([, name = '']) => name).sort()).toEqual(namesIn(render(FULL)));
});

test('a monitor that never looked is as blind as it is old', () => {
  const { beganAt } = figures();
  expect(sampleOf(render({ lookedAt: AT - 20_000 }), 'look_age_seconds')).toBe(20);
  expect(sampleOf(render({ lookedAt: null }), 'look_age_seconds')).toBe((AT - beganAt) / 1_000);
});

test.each([
  ['up', 1],
  ['busy', 1],
  ['loading', 0],
  ['refused', 0],
  ['down', 0],
] as const)('a server that is %s has redis_up %d, as redis-unreachable judges it', (health, up) => {
  expect(sampleOf(render({ servers: [card({ health })] }), 'redis_up')).toBe(up);
});
