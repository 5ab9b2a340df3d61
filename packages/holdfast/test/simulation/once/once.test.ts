/** Worlds of `once`: no seed breaks a rule, and each planted bug is found. `npm run simulate -- --once` plays more. */
import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { loadScriptEngine, type ScriptEngine } from '../../../../testing/src/lua/script-engine.ts';
import { upTo } from '../../support/extent.ts';
import { ONCE_BUGS } from './once-bugs.ts';
import { playOnce } from './once-scenario.ts';

const SEEDS = upTo(30, 2_000);
const BUG_SEEDS_MAX = 100;
const LIMIT_MS = 240_000;

let engine: ScriptEngine;
beforeAll(async () => {
  engine = await loadScriptEngine();
});

test('no seed breaks a rule of once', { timeout: LIMIT_MS }, async () => {
  const failures: string[] = [];
  let runs = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const outcome = await playOnce({ seed, engine });
    failures.push(...outcome.verdicts.map(({ rule, text }) => `seed ${seed}: ${rule}: ${text}`));
    runs += outcome.grants;
  }
  expect(failures).toEqual([]);
  // A world in which no body runs breaks no rule either.
  expect(runs).toBeGreaterThan(2 * SEEDS);
});

test('a seed of once repeats its history', { timeout: LIMIT_MS }, async () => {
  const [first, second] = [await playOnce({ seed: 7, engine }), await playOnce({ seed: 7, engine })];
  expect(second.hash).toBe(first.hash);
});

test.each(ONCE_BUGS)('a planted bug of once is found: $name', { timeout: LIMIT_MS }, async (bug) => {
  for (let seed = 1; seed <= BUG_SEEDS_MAX; seed += 1) {
    const [verdict] = (await playOnce({ seed, engine, bug })).verdicts;
    if (verdict === undefined) continue;
    expect(bug.breaks).toContain(verdict.rule);
    return;
  }
  expect.fail(`nothing found in ${BUG_SEEDS_MAX} seeds`);
});

test('the page on testing lists the planted bugs of once', () => {
  const page = readFileSync(new URL('../../../../../docs/concepts/testing.md', import.meta.url), 'utf8');
  const listed = [...page.matchAll(/^\| ([^|]+) \| once \|$/gm)].map(([, name]) => name);
  expect(listed).toEqual(ONCE_BUGS.map(({ name }) => name));
});
