/** The only place that draws random numbers, so that a seed can repeat a run. */
import { randomBytes, randomInt, randomUUID } from 'node:crypto';

export interface Random {
  /** A random version 4 UUID, lower case. */
  uuid(): string;
  /** A secret of 16 random bytes as 32 lower-case hexadecimal digits. */
  token(): string;
  /** A number in [0, 1), for jitter. */
  fraction(): number;
}

const FRACTION_STEPS = 2 ** 32;
const TOKEN_BYTES = 16;

/** Drawn and written out for many tokens at once: singly it was a third of an acquire's own work. */
const POOL_TOKENS = 256;
const TOKEN_DIGITS = 2 * TOKEN_BYTES;
let pool = '';
let poolOffset = 0;

function nextToken(): string {
  if (poolOffset >= pool.length) {
    pool = randomBytes(POOL_TOKENS * TOKEN_BYTES).toString('hex');
    poolOffset = 0;
  }
  poolOffset += TOKEN_DIGITS;
  return pool.slice(poolOffset - TOKEN_DIGITS, poolOffset);
}

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  token: nextToken,
  fraction: () => randomInt(FRACTION_STEPS) / FRACTION_STEPS,
};
