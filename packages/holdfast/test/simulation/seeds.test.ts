/** A few hundred worlds for every run of the tests; `npm run simulate` plays as many as one likes. */
import { beforeAll, expect, test } from 'vitest';
import { loadScriptEngine, type ScriptEngine } from '../../src/testing/script-engine.ts';
import { type Outcome, play } from './scenario.ts';

const SEEDS = 240;
const LIMIT_MS = 240_000;

let engine: ScriptEngine;
beforeAll(async () => {
  engine = await loadScriptEngine();
});

function broken({ seed, verdicts }: Outcome): string[] {
  return verdicts.map(({ rule, text }) => `npm run simulate -- --seed ${seed}: ${rule}: ${text}`);
}

test('no seed breaks a rule', { timeout: LIMIT_MS }, async () => {
  const failures: string[] = [];
  let grants = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const outcome = await play({ seed, engine });
    failures.push(...broken(outcome));
    grants += outcome.grants;
  }
  expect(failures).toEqual([]);
  // A world in which nobody gets a lock breaks no rule either.
  expect(grants).toBeGreaterThan(SEEDS * 20);
});

test('a seed repeats its history to the last step', { timeout: LIMIT_MS }, async () => {
  for (const seed of [3, 14, 15, 92]) {
    const [first, second] = [
      await play({ seed, engine, isTold: true }),
      await play({ seed, engine, isTold: true }),
    ];
    expect(second.lines).toEqual(first.lines);
    expect(second.hash).toBe(first.hash);
  }
  const [one, other] = [await play({ seed: 1, engine }), await play({ seed: 2, engine })];
  expect(one.hash).not.toBe(other.hash);
});
