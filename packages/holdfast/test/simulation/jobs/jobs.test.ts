/** Jobs and leaders in many small worlds with faults: no promise is broken, and every planted bug is found. */
import { describe, expect, test } from 'vitest';
import { upTo } from '../../support/extent.ts';
import { JOB_BUGS } from './job-bugs.ts';
import { JobWorld } from './job-world.ts';
import { LEADER_BUGS } from './leader-bugs.ts';
import { LeaderWorld } from './leader-world.ts';

const SEEDS = upTo(8, 1_000);
const SEEDS_MAX = 200;
const LIMIT_MS = 240_000;

/** The first verdict, and the seed that it is of. */
async function firstVerdict(
  play: (seed: number) => Promise<readonly string[]>,
): Promise<{ seed: number; verdict: string } | null> {
  for (let seed = 1; seed <= SEEDS_MAX; seed += 1) {
    const [verdict] = await play(seed);
    if (verdict !== undefined) return { seed, verdict };
  }
  return null;
}

test(`jobs keep their promises in ${SEEDS} worlds`, { timeout: LIMIT_MS }, async () => {
  let runs = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const world = new JobWorld(seed);
    expect(await world.play(), `seed ${seed}`).toEqual([]);
    runs += world.runs;
  }
  expect(runs).toBeGreaterThan(SEEDS * 4);
});

test(`leaders keep their promises in ${SEEDS} worlds`, { timeout: LIMIT_MS }, async () => {
  let terms = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const world = new LeaderWorld(seed);
    expect(await world.play(), `seed ${seed}`).toEqual([]);
    terms += world.terms;
  }
  expect(terms).toBeGreaterThan(SEEDS * 2);
});

describe('a planted bug is found', () => {
  for (const bug of JOB_BUGS) {
    test(bug.name, { timeout: LIMIT_MS }, async () => {
      const found = await firstVerdict((seed) => new JobWorld(seed, bug).play());
      expect(bug.breaks).toContain(found?.verdict.split(':')[0]);
    });
  }
  for (const bug of LEADER_BUGS) {
    test(bug.name, { timeout: LIMIT_MS }, async () => {
      const found = await firstVerdict((seed) => new LeaderWorld(seed, bug).play());
      expect(bug.breaks).toContain(found?.verdict.split(':')[0]);
    });
  }
});
