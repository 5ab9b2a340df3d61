/** Fractions from 0 to 1 that look random and are the same for the same seed. */

/** The constants of a full-period linear congruential generator modulo 2^32; its upper bits are good enough here. */
const MULTIPLIER = 1_664_525;
const INCREMENT = 1_013_904_223;

export function seededFractions(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, MULTIPLIER) + INCREMENT) >>> 0;
    return state / 2 ** 32;
  };
}
