import { type Random, systemRandom } from '../../../src/runtime/random.ts';
import { seeded } from '../../support/seeded.ts';

/** Jitter by the seed of the world, so that a seed repeats. Ids stay random: nothing depends on what they are. */
export function seededRandom(random: () => number): Random {
  return { ...systemRandom, fraction: seeded(Math.floor(random() * 2 ** 31)) };
}
