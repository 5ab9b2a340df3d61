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

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  token: () => randomBytes(16).toString('hex'),
  fraction: () => randomInt(FRACTION_STEPS) / FRACTION_STEPS,
};
