/** Takes a lock or a mutex away from its owner. */
import { LockConflictError, LockNotHeldError } from '../errors.ts';
import { lineKey, lockChannel, mutexChannel } from '../keys/name.ts';
import { describe } from '../runtime/describe.ts';
import { printable, quote } from '../runtime/printable.ts';
import { type AdminForceReleaseOutcome, adminForceRelease } from '../scripts/generated.ts';
import { mostCommon } from './agreement.ts';
import type { AdminServers } from './servers.ts';

export interface ForceReleaseOptions {
  /** Only from this owner, as `inspect` and `list` show it. @default whoever holds it */
  readonly owner?: string;
}

/**
 * The owner that lost it, or null when nobody held it. Takes it from `owner` only, unless that is ''. An owner in this
 * process is not told here: that is for the caller.
 */
export async function forceRelease(
  servers: AdminServers,
  name: string,
  owner: string,
): Promise<string | null> {
  const key = servers.keyPrefix + name;
  const channels = { lockChannel: lockChannel(key), mutexChannel: mutexChannel(key) };
  const answers = await servers.ask(
    servers.deciding,
    (_, mode) => adminForceRelease.call({ name: key, line: lineKey(key), owner, ...channels, mode }),
    adminForceRelease.decode,
    name,
  );
  const outcomes = answers.map(({ value }) => value);
  refuseOtherOwner(name, owner, outcomes, servers.majority);
  const lost = mostCommon(outcomes.flatMap((outcome) => (outcome.is === 'RELEASED' ? [outcome.owner] : [])));
  if (lost !== undefined) return lost;
  for (const outcome of outcomes) {
    if (outcome.is !== 'CONFLICT') continue;
    const message = `${quote(name)}: the key holds something else (${printable(outcome.found)}); it was left untouched`;
    throw new LockConflictError(message, { lock: name });
  }
  return null;
}

/** In a quorum, an owner on fewer servers than a majority is a vote that failed or is being cleaned up: nobody's lock. */
function refuseOtherOwner(
  name: string,
  expected: string,
  outcomes: readonly AdminForceReleaseOutcome[],
  majority: number,
): void {
  const refusals = outcomes.flatMap((outcome) => (outcome.is === 'HELD' ? [outcome] : []));
  const owner = mostCommon(refusals.map((refusal) => refusal.owner));
  const theirs = refusals.filter((refusal) => refusal.owner === owner);
  const [first] = theirs;
  if (first === undefined || theirs.length < majority) return;
  const whose = `expected ${describe(expected)} to hold it, found ${describe(first.owner)}`;
  const message = `${JSON.stringify(name)}: ${whose}; it was left untouched`;
  throw new LockNotHeldError(message, { lock: name, holder: { owner: first.owner, ttlMs: first.ttlMs } });
}
