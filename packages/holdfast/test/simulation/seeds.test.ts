/** A hundred worlds for every run of the tests; `npm run simulate` plays as many as one likes. */
import { beforeAll, expect, test } from 'vitest';
import { loadScriptEngine, type ScriptEngine } from '../../../testing/src/lua/script-engine.ts';
import { upTo } from '../support/extent.ts';
import type { Outcome } from './outcome.ts';
import { play } from './scenario.ts';

/** How many nodes decide, and how many seeds are played with so many. */
const WORLDS = [
  { nodes: 1, seeds: upTo(100, 240) },
  { nodes: 3, seeds: upTo(20, 50) },
  { nodes: 5, seeds: 10 },
];
const LIMIT_MS = 240_000;

let engine: ScriptEngine;
beforeAll(async () => {
  engine = await loadScriptEngine();
});

function broken({ seed, verdicts }: Outcome, nodes: number): string[] {
  return verdicts.map(
    ({ rule, text }) => `npm run simulate -- --nodes ${nodes} --seed ${seed}: ${rule}: ${text}`,
  );
}

for (const { nodes, seeds } of WORLDS) {
  test(`no seed breaks a rule where ${nodes} decide`, { timeout: LIMIT_MS }, async () => {
    const failures: string[] = [];
    let grants = 0;
    for (let seed = 1; seed <= seeds; seed += 1) {
      const outcome = await play({ seed, engine, nodes });
      failures.push(...broken(outcome, nodes));
      grants += outcome.grants;
    }
    expect(failures).toEqual([]);
    // A world in which nobody gets a lock breaks no rule either.
    expect(grants).toBeGreaterThan(seeds * 20);
  });
}

test('a seed repeats its history to the last step', { timeout: LIMIT_MS }, async () => {
  for (const { nodes, seed } of [
    { nodes: 1, seed: 14 },
    { nodes: 1, seed: 92 },
    { nodes: 3, seed: 15 },
  ]) {
    const told = { seed, engine, nodes, isTold: true };
    const [first, second] = [await play(told), await play(told)];
    expect(second.lines).toEqual(first.lines);
    expect(second.hash).toBe(first.hash);
  }
  const [one, other] = [await play({ seed: 1, engine }), await play({ seed: 2, engine })];
  expect(one.hash).not.toBe(other.hash);
});
