/**
 * Guests that listen and take the lock again at once get as many turns as processes of ours that do the same, and these as many as
 * the guests. By chance alone a share of some hundred turns varies by a few percent.
 */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadScriptEngine, type ScriptEngine } from '../../../../testing/src/lua/script-engine.ts';
import { upTo } from '../../support/extent.ts';
import { SHARE_BUGS } from './share-bugs.ts';
import { playShares, type ShareTerms } from './share-world.ts';

const SEEDS = upTo(1, 5);
const LIMIT_MS = 240_000;
const SHARE_MIN = 0.85;
const SHARE_MAX = 1.15;

const WORLDS = [
  { processes: 3, guests: 2, workMs: 2, durationMs: 3_000 },
  { processes: 2, guests: 1, workMs: 2, durationMs: 3_000 },
  { processes: 4, guests: 1, workMs: 2, durationMs: 3_000 },
  { processes: 4, guests: 2, workMs: 10, durationMs: 6_000 },
  { processes: 5, guests: 3, workMs: 2, durationMs: 3_000 },
] as const;

let engine: ScriptEngine;
beforeAll(async () => {
  engine = await loadScriptEngine();
});

/** What part of an equal share the guests have, and what part the one of ours that has least and the one that has most. */
async function sharesOf(seed: number, terms: ShareTerms): Promise<readonly number[]> {
  const { ours, guests } = await playShares(seed, engine, terms);
  const sum = (turns: readonly number[]): number => turns.reduce((total, count) => total + count, 0);
  const equal = (sum(ours) + sum(guests)) / (ours.length + guests.length);
  return [sum(guests) / guests.length / equal, Math.min(...ours) / equal, Math.max(...ours) / equal];
}

function isFair(share: number): boolean {
  return share > SHARE_MIN && share < SHARE_MAX;
}

describe('guests that take a lock again and again, as processes of ours do', () => {
  test.each(WORLDS)(
    'have an equal share: $guests beside $processes with sections of $workMs ms',
    { timeout: LIMIT_MS },
    async (terms) => {
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const shares = await sharesOf(seed, terms);
        expect(shares.every(isFair), `seed ${seed}: ${shares}`).toBe(true);
      }
    },
  );

  test.each(SHARE_BUGS)(
    'have another share where a bug is planted: $name',
    { timeout: LIMIT_MS },
    async (bug) => {
      for (const terms of WORLDS) if (!(await sharesOf(1, { ...terms, bug })).every(isFair)) return;
      expect.fail('everybody has an equal share');
    },
  );
});

test('the page on testing lists the planted bugs of shares', () => {
  const page = readFileSync(new URL('../../../../../docs/concepts/testing.md', import.meta.url), 'utf8');
  const listed = [...page.matchAll(/^\| ([^|]+) \| guests \|$/gm)].map(([, name]) => name);
  expect(listed).toEqual(SHARE_BUGS.map(({ name }) => name));
});
