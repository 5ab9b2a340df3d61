/** The only place that draws random numbers, so that a seed can repeat a run. */
import { randomBytes, randomInt, randomUUID } from 'node:crypto';

export interface Random {
  /** A random UUID, lower case. Of version 8, by which scripts tell sessions of ours from those of Redisson. */
  uuid(): string;
  /**
   * A secret of 16 random bytes as 32 lower-case hexadecimal digits, and `:holdfast`: the mark by which `list` knows a
   * mutex of ours.
   */
  token(): string;
  /** A number in [0, 1), for jitter. */
  fraction(): number;
}

const FRACTION_STEPS = 2 ** 32;
const TOKEN_BYTES = 16;

/** Tells a mutex of ours from a cached value: lua/admin/scan.lua looks for it. */
const TOKEN_MARK = ':holdfast';

/** Drawn and written out for many tokens at once: singly it was a third of an acquire's own work. */
const POOL_TOKENS = 256;
const TOKEN_LENGTH = 2 * TOKEN_BYTES + TOKEN_MARK.length;
let pool = '';
let poolOffset = 0;

function nextToken(): string {
  if (poolOffset >= pool.length) {
    pool = randomBytes(POOL_TOKENS * TOKEN_BYTES)
      .toString('hex')
      .replace(/.{32}/g, `$&${TOKEN_MARK}`);
    poolOffset = 0;
  }
  poolOffset += TOKEN_LENGTH;
  return pool.slice(poolOffset - TOKEN_LENGTH, poolOffset);
}

export const systemRandom: Random = {
  uuid: () => randomUUID().replace(/^(.{14})4/, '$18'),
  token: nextToken,
  fraction: () => randomInt(FRACTION_STEPS) / FRACTION_STEPS,
};
