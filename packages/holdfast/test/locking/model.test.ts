/**
 * Random histories of acquiring, entering again, extending, aborting, releasing and closing by three processes,
 * on connections that are slow, lose answers and go away. Under a fake clock, with the oracles of `model-world.ts`.
 *
 * A failure prints its seed and its shrunk history. `MODEL_SEED=<seed> MODEL_RUNS=<runs>` plays others.
 */
import { env } from 'node:process';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { upTo } from '../support/extent.ts';
import { type History, MEDDLED, ORDINARY, SLEEPY } from './support/histories.ts';
import { ModelWorld } from './support/model-world.ts';

const SEED = Number(env['MODEL_SEED'] ?? 20_270_114);
const RUNS = Number(env['MODEL_RUNS'] ?? upTo(60, 150));

async function check(histories: fc.Arbitrary<History>): Promise<void> {
  const property = fc.asyncProperty(histories, (history) => new ModelWorld(history).play());
  await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: false });
}

/** Seconds of a core, of which a busy machine gives little. */
describe('under any history', { timeout: 180_000 }, () => {
  test('there is one owner at a time, fences grow, owners are told in time and nothing is left', async () => {
    await check(ORDINARY);
  });

  test('the same holds on a machine that sleeps', async () => {
    await check(SLEEPY);
  });

  test('owners are told in time and nothing is left although somebody deletes keys', async () => {
    await check(MEDDLED);
  });
});
