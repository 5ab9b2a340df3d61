/** When a key expires that is given so many seconds or milliseconds, from now or since 1970. */

import type { CommandContext } from '../command.ts';
import { CommandError } from '../command-error.ts';
import { bigIntegerOf, isInt64 } from '../number-text.ts';

/** Units: `EX` and `PX` from now, `EXAT` and `PXAT` since 1970. Only a lifetime of its own must be positive. */
export function expiryTime({ node }: CommandContext, bytes: string, unit: string, command: string): number {
  const given = bigIntegerOf(bytes);
  const whenMs = given <= 0n ? null : timeOf(given, unit, node.nowMs);
  if (whenMs === null) throw new CommandError(`ERR invalid expire time in '${command}' command`);
  return whenMs;
}

/** Null when it is too far away for 64 bits. */
export function timeOf(given: bigint, unit: string, nowMs: number): number | null {
  const givenMs = unit.startsWith('EX') ? given * 1000n : given;
  const whenMs = unit.endsWith('AT') ? givenMs : givenMs + BigInt(nowMs);
  return isInt64(givenMs) && isInt64(whenMs) ? Number(whenMs) : null;
}
