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

/** Random bytes are drawn for many tokens at once: drawing them singly was a third of an acquire's own work. */
const POOL_BYTES = 256 * TOKEN_BYTES;
let pool: Buffer = Buffer.alloc(0);
let poolOffset = 0;

function nextToken(): string {
  if (poolOffset >= pool.length) {
    pool = randomBytes(POOL_BYTES);
    poolOffset = 0;
  }
  poolOffset += TOKEN_BYTES;
  return pool.toString('hex', poolOffset - TOKEN_BYTES, poolOffset);
}

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  token: nextToken,
  fraction: () => randomInt(FRACTION_STEPS) / FRACTION_STEPS,
};
