/** One caller of a once key: it comes in and finds the answer there, or runs the body and stores what came of it. */
import { OnceResultError } from '../../errors/once-errors.ts';
import { LockConflictError, type LockError, LockLostError, LockUnknownError } from '../../errors.ts';
import { closedError, describeServers, quoted } from '../../locking/failures.ts';
import { LeaseHandle } from '../../locking/lease.ts';
import type { Owner } from '../../locking/owner.ts';
import { runAs } from '../../locking/scope.ts';
import type { Session } from '../../locking/session.ts';
import type { ResolvedAcquireOptions } from '../../options/acquire-options.ts';
import type { ResolvedOnceOptions } from '../../options/once-options.ts';
import { assert } from '../../runtime/assert.ts';
import { printable } from '../../runtime/printable.ts';
import type { OnceCall } from './call.ts';
import { decodeResult, encodeFailure, encodeResult } from './payload.ts';
import type { Ending, OnceProtocol, OnceSettled, StartedRun } from './protocol.ts';
import { type Stored, store } from './store.ts';

/** What the body of `once` is told. */
export interface OnceRun {
  /** The key, as given. */
  readonly key: string;
  /** 1 for the first run. Above that an earlier run threw or ended without a word: its work may have been done. */
  readonly attempt: number;
  /** A number larger than that of every earlier run: a resource that remembers it can refuse a late write. */
  readonly fence: number;
  /** Aborts when the lease of this run is lost, so that another run may begin, and when the `Locks` closes. */
  readonly signal: AbortSignal;
}

export interface Started extends StartedRun {
  readonly is: 'started';
  readonly owner: Owner;
}

export type Entered = Started | { readonly is: 'settled'; readonly answer: OnceSettled };

/** Waits until the run is ours, or there is nothing to run. */
export async function enter(
  session: Session,
  protocol: OnceProtocol,
  options: ResolvedAcquireOptions,
  call: OnceCall,
): Promise<Entered> {
  const startedMs = session.timers.clock.monotonicMs();
  let lease: LeaseHandle | null;
  try {
    lease = await session.entrance(protocol).enter(options, startedMs);
  } catch (refusal) {
    if (isSettled(refusal)) return refusal;
    throw refusal;
  }
  const owner = LeaseHandle.ownerOf(lease, session);
  assert(owner !== undefined, () => 'a caller that waits is answered or gets a lease');
  // Renewed until the body ends, whoever still has the lease.
  owner.keep();
  if (!call.begin(owner)) {
    // A start that no body follows does not count.
    owner.hold.wasServed = false;
    await owner.hold.keeper.leave(owner).catch(() => {});
    throw closedError(protocol, session.timers.clock.monotonicMs() - startedMs);
  }
  const { holder, attempt } = owner.hold;
  const { fence } = owner;
  assert(attempt !== undefined && fence !== undefined, () => 'a run has an attempt and a fence');
  return { is: 'started', owner, holder, attempt, fence };
}

/** The one thing that an entrance rejects with and that is no error. */
function isSettled(refusal: unknown): refusal is Extract<Entered, { is: 'settled' }> {
  return typeof refusal === 'object' && refusal !== null && 'is' in refusal && refusal.is === 'settled';
}

/** Runs the body under the lease, and stores what came of it before the caller hears of it. */
export async function runBody<T>(
  session: Session,
  protocol: OnceProtocol,
  started: Started,
  body: (run: OnceRun) => Promise<T> | T,
  options: ResolvedOnceOptions<T>,
  call: OnceCall,
): Promise<T> {
  const { owner, attempt, fence } = started;
  const run: OnceRun = {
    key: protocol.name,
    attempt,
    fence,
    get signal() {
      return call.signal;
    },
  };
  const [outcome] = await Promise.allSettled([runAs(owner, () => body(run))]);
  const { ending, unstorable } = endingOf(protocol.name, outcome, attempt, options);
  const stored = await store(session, protocol, owner, started, ending);
  if (stored.is !== 'STORED') throw notStored(protocol, started, stored, outcome);
  if (unstorable !== undefined) throw withOutcome(unstorable, outcome);
  if (outcome.status === 'rejected') throw outcome.reason;
  try {
    return decodeResult(protocol.name, ending.payload, options.codec);
  } catch (error) {
    throw error instanceof OnceResultError ? withOutcome(error, outcome) : error;
  }
}

interface Ended {
  readonly ending: Ending;
  readonly unstorable?: OnceResultError;
}

/** What is stored of a run. A result that cannot be stored is kept as a failure: its effects have happened. */
function endingOf<T>(
  key: string,
  outcome: PromiseSettledResult<T>,
  attempt: number,
  { codec, maxBytes, keepMs, keepFailureMs, onError, attempts }: ResolvedOnceOptions<T>,
): Ended {
  if (outcome.status === 'rejected') {
    const isFinal = onError === 'rethrow' || attempt >= attempts;
    const payload = encodeFailure(outcome.reason);
    const state = isFinal ? 'failed' : 'idle';
    return { ending: { state, reason: 'failed', payload, keepMs: keepFailureMs } };
  }
  try {
    const payload = encodeResult(key, outcome.value, codec, maxBytes);
    return { ending: { state: 'done', reason: '', payload, keepMs } };
  } catch (error) {
    if (!(error instanceof OnceResultError)) throw error;
    const payload = encodeFailure(error);
    return { ending: { state: 'failed', reason: 'unstorable', payload, keepMs }, unstorable: error };
  }
}

function withOutcome(
  { message, lock, reason, cause }: OnceResultError,
  outcome: PromiseSettledResult<unknown>,
): OnceResultError {
  return new OnceResultError(message, { lock, reason, outcome, cause });
}

/** The body has run, and nobody else will be told what came of it. */
function notStored(
  protocol: OnceProtocol,
  { owner, attempt, fence }: Started,
  stored: Exclude<Stored, { is: 'STORED' }>,
  outcome: PromiseSettledResult<unknown>,
): LockError {
  const once = quoted(protocol);
  const lock = protocol.name;
  const did = outcome.status === 'fulfilled' ? 'the body finished all the same' : 'the body failed';
  const cause = outcome.status === 'rejected' ? outcome.reason : (owner.loss ?? undefined);
  if (stored.is === 'GONE') {
    const why = 'another attempt has begun, or Redis has lost the record';
    const message = `${once}: attempt ${attempt} is not stored, because ${why}; ${did}`;
    return new LockLostError(message, { lock, reason: owner.loss?.reason ?? 'gone', fence, outcome, cause });
  }
  if (stored.is === 'CONFLICT') {
    const found = printable(stored.found);
    const message = `${once}: the key of its record holds something else (${found}), so attempt ${attempt} is not stored; ${did}`;
    return new LockConflictError(message, { lock, outcome, cause });
  }
  const said = describeServers(stored.servers);
  const message = `${once}: no answer whether attempt ${attempt} is stored; ${did} (${said})`;
  return new LockUnknownError(message, { lock, outcome, cause });
}
