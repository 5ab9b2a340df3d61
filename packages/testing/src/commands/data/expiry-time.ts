/** The time at which a key expires, from a number and its unit. */

import { CommandError } from '../../protocol/command-error.ts';
import { bigIntegerOf, isInt64 } from '../../protocol/number-text.ts';
import type { CommandContext } from '../command.ts';

/** Units: `EX` and `PX` count from now, `EXAT` and `PXAT` from 1970. Refuses what is not positive, as SET does. */
export function expiryTime({ node }: CommandContext, bytes: string, unit: string, command: string): number {
  const given = bigIntegerOf(bytes);
  const whenMs = given <= 0n ? null : timeOf(given, unit, node.nowMs);
  if (whenMs === null) throw new CommandError(`ERR invalid expire time in '${command}' command`);
  return whenMs;
}

/** Null for a time that does not fit 64 bits. EXPIRE takes times in the past too, so they are allowed here. */
export function timeOf(given: bigint, unit: string, nowMs: number): number | null {
  const givenMs = unit.startsWith('EX') ? given * 1000n : given;
  const whenMs = unit.endsWith('AT') ? givenMs : givenMs + BigInt(nowMs);
  return isInt64(givenMs) && isInt64(whenMs) ? Number(whenMs) : null;
}
