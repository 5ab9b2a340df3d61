/** Takes a lock or a mutex away from its owner. The next in line gets it in the same step. */
import type { ScriptCall } from '../clients/client.ts';
import { LockConflictError, LockNotHeldError } from '../errors.ts';
import { hasLineOfWaiters } from '../keys/derived.ts';
import { fenceKey, lineKey, lockChannel, mutexChannel } from '../keys/name.ts';
import { describe } from '../runtime/describe.ts';
import { printable, quote } from '../runtime/printable.ts';
import {
  type AdminForceReleaseLockOutcome,
  type AdminForceReleaseMutexOutcome,
  adminForceReleaseLock,
  adminForceReleaseMutex,
} from '../scripts/generated.ts';
import type { PubSubMode } from '../topologies/protocol.ts';
import { mostCommon } from './agreement.ts';
import type { AdminServers, Answer } from './servers.ts';

export interface ForceReleaseOptions {
  /** Only from this owner, as `inspect` and `list` show it. @default whoever holds it */
  readonly owner?: string;
  /** Why, at most 500 characters. The owner finds it in the message of its `LockLostError`. */
  readonly reason?: string;
}

/** What fits into a message that every owner must read. */
export const REASON_LENGTH_MAX = 500;

type Outcome = AdminForceReleaseMutexOutcome;

/**
 * The owner that lost it, or null when nobody held it. Takes it from `owner` only, unless that is ''. An owner in this
 * process is not told here: that is for the caller.
 */
export async function forceRelease(
  servers: AdminServers,
  name: string,
  owner: string,
  words: string,
): Promise<string | null> {
  const outcomes = await outcomesOf(servers, name, owner, words);
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

/**
 * The next owner is made by the script, and a script can make one of one kind. So the servers are asked to release a
 * lock, and those that have a string instead are asked to release a mutex.
 */
async function outcomesOf(
  servers: AdminServers,
  name: string,
  owner: string,
  words: string,
): Promise<Outcome[]> {
  const key = servers.keyOf(name);
  const mailbox = servers.mailboxOf(key);
  // A line that there is not needs no right: the user may have none for it.
  const keys = { fence: fenceKey(key), line: hasLineOfWaiters(key) ? lineKey(key) : key, mailbox };
  // While a slot of a cluster moves, the keys of one lock may be on different nodes. The lock's own key is then released
  // alone, and those in line find it free when they ask again.
  const ownKey = { fence: key, line: key, mailbox: '' };

  const lockCall = ({ fence, line, mailbox }: typeof keys, mode: PubSubMode): ScriptCall =>
    adminForceReleaseLock.call({
      lock: key,
      fence,
      line,
      owner,
      channel: lockChannel(key),
      mode,
      mailbox,
      words,
    });
  const askLock = (of: typeof keys): Promise<Answer<AdminForceReleaseLockOutcome>[]> =>
    servers.ask(servers.deciding, (_, mode) => lockCall(of, mode), adminForceReleaseLock.decode, name);
  const asLock = await servers.withOwnKeyIfSplit(
    () => askLock(keys),
    () => askLock(ownKey),
  );

  const done = asLock.flatMap(({ value }) => (value.is === 'MUTEX' ? [] : [value]));
  const strings = new Set(asLock.filter(({ value }) => value.is === 'MUTEX').map(({ index }) => index));
  if (strings.size === 0) return done;
  const mutexCall = ({ line, mailbox }: typeof keys, mode: PubSubMode): ScriptCall =>
    adminForceReleaseMutex.call({
      mutex: key,
      line,
      owner,
      channel: mutexChannel(key),
      mode,
      mailbox,
      words,
    });
  const askMutex = (of: typeof keys): Promise<Answer<AdminForceReleaseMutexOutcome>[]> =>
    servers.ask(
      { ...servers.deciding, needed: Math.max(1, servers.majority - done.length) },
      (index, mode) => (strings.has(index) ? mutexCall(of, mode) : null),
      adminForceReleaseMutex.decode,
      name,
    );
  const asMutex = await servers.withOwnKeyIfSplit(
    () => askMutex(keys),
    () => askMutex(ownKey),
  );
  return [...done, ...asMutex.map(({ value }) => value)];
}

/** In a quorum, an owner on fewer servers than a majority is a vote that failed or is being cleaned up: nobody's lock. */
function refuseOtherOwner(
  name: string,
  expected: string,
  outcomes: readonly Outcome[],
  majority: number,
): void {
  const refusals = outcomes.flatMap((outcome) => (outcome.is === 'HELD' ? [outcome] : []));
  const owner = mostCommon(refusals.map((refusal) => refusal.owner));
  const theirs = refusals.filter((refusal) => refusal.owner === owner);
  const [first] = theirs;
  if (first === undefined || theirs.length < majority) return;
  const whose = `expected ${describe(expected)} to hold it, found ${describe(first.owner)}`;
  const message = `${quote(name)}: ${whose}; it was left untouched`;
  throw new LockNotHeldError(message, { lock: name, holder: { owner: first.owner, ttlMs: first.ttlMs } });
}
