/** The words of errors: how a caller is told that an acquisition, a release or a hold did not go well. */
import {
  type Holder,
  LockAbortedError,
  LockClosedError,
  LockConfigError,
  LockConflictError,
  type LockError,
  LockLostError,
  LockTimeoutError,
  LockUnavailableError,
  LockUnknownError,
  type LossReason,
  type ServerFailure,
} from '../errors.ts';
import { inMs, printable, quote } from '../runtime/printable.ts';
import type { Subject } from '../telemetry/channels.ts';
import type { Policy } from '../topologies/protocol.ts';
import type { AcquireResult, Settled } from '../topologies/topology.ts';

/** Why an attempt did not bring the lock. */
export type Refusal = Exclude<AcquireResult, { is: 'granted' }>;

/** An attempt that threw: the set-up is wrong, or we are. */
export interface Broken {
  readonly is: 'broken';
  readonly error: unknown;
}

export type Held = Extract<Refusal, { is: 'held' }>;
export type Failed = Extract<Refusal, { is: 'failed' }>;

/** Which lock, and how its kind is spoken of. */
export interface SubjectOfKind extends Subject {
  readonly policy: Pick<Policy, 'isHolderSecret' | 'expected'>;
}

export function quoted({ kind, name }: Subject): string {
  return `${kind} ${quote(name)}`;
}

/** Redis puts behind an error reply where in a script of ours it arose. `servers` of the error keeps that part. */
const SCRIPT_PLACE = / script: [0-9a-f]{40}, on @\w+:\d+\.$/;

export function describeServers(servers: readonly ServerFailure[]): string {
  const said = servers.map(({ server, kind, text }) => {
    return `${printable(server)}: ${kind}, ${printable(text.replace(SCRIPT_PLACE, ''))}`;
  });
  return said.join('; ');
}

/** Whether a server was asked and did not answer: the request may have happened. */
export function isUnanswered({ mayBeGranted, servers }: Failed): boolean {
  return mayBeGranted && servers.some(({ kind }) => kind === 'unknown');
}

function describeHolder({ owner, ttlMs }: Holder): string {
  const who = owner === undefined ? 'somebody else holds it' : `${printable(owner)} holds it`;
  return ttlMs < 0 ? `${who} without an expiry` : `${who} for ${inMs(ttlMs)} more unless renewed`;
}

/** The error for a caller whose attempt, or whose whole wait, ended so. Null: no attempt was made for the caller. */
export function acquireError(
  subject: SubjectOfKind,
  refusal: Exclude<Refusal, Settled> | null,
  elapsedMs: number,
): LockError {
  const lock = quoted(subject);
  const took = inMs(elapsedMs);
  const details = { lock: subject.name, elapsedMs };
  if (refusal === null) {
    return new LockTimeoutError(`${lock}: waited ${took} behind other callers of this process`, details);
  }
  switch (refusal.is) {
    case 'held': {
      if (refusal.isSplit) {
        const why = 'the votes were split between several callers';
        return new LockTimeoutError(`${lock}: waited ${took} and did not get it; ${why}`, details);
      }
      const owner = subject.policy.isHolderSecret ? undefined : refusal.owner;
      const holder = { owner, ttlMs: refusal.ttlMs };
      const message = `${lock}: waited ${took} and did not get it; ${describeHolder(holder)}`;
      return new LockTimeoutError(message, { ...details, holder });
    }
    case 'conflict': {
      const found = printable(refusal.found);
      const what = refusal.isCounter
        ? `the counter of its fences holds ${found}`
        : `the key holds something else (expected ${subject.policy.expected}, got ${found})`;
      return new LockConflictError(`${lock}: ${what}; it was left untouched`, details);
    }
    case 'failed': {
      const said = describeServers(refusal.servers);
      if (isUnanswered(refusal)) {
        const what = 'no answer; it may or may not have been granted, and is being released';
        return new LockUnknownError(`${lock}: ${what} (after ${took}; ${said})`, details);
      }
      const who = refusal.servers.length > 1 ? 'too few servers served it' : 'the server did not serve it';
      const message = `${lock}: ${who} within ${took} (${said})`;
      return new LockUnavailableError(message, { ...details, servers: refusal.servers });
    }
  }
}

/** The caller's signal fired while it waited. */
export function abortError(subject: Subject, elapsedMs: number, signal: AbortSignal): LockError {
  const message = `${quoted(subject)}: aborted after ${inMs(elapsedMs)} of waiting`;
  return new LockAbortedError(message, { lock: subject.name, elapsedMs, cause: signal.reason });
}

/** The session was closed while the caller waited. */
export function closedError(subject: Subject, elapsedMs: number): LockError {
  const message = `${quoted(subject)}: closed while waiting`;
  return new LockClosedError(message, { lock: subject.name, elapsedMs });
}

/** Too many callers wait already: the next one is turned away. */
export function crowdError(subject: Subject, waitersMax: number): LockError {
  const message = `${quoted(subject)}: ${waitersMax} callers of this process wait for it already`;
  return new LockUnavailableError(message, { lock: subject.name });
}

/** A mistake in the set-up that only an attempt can find, told to each caller in an error made for that caller. */
export function configErrorAgain(subject: Subject, error: LockConfigError): LockConfigError {
  return new LockConfigError(error.message, { lock: subject.name, cause: error });
}

/** What of a hold goes into the words of its loss. */
export interface LostHold {
  readonly protocol: Subject;
  readonly renews: boolean;
  readonly leaseMs: number;
  /** What the server was last known to have: less than the lease for a hold that came from the line and was not renewed yet. */
  readonly statedMs: number;
  /** Why an operator took it away; '' or null where nobody said. */
  readonly takenFor: string | null;
}

export function lossError(
  { protocol, renews, leaseMs, statedMs, takenFor }: LostHold,
  fence: number | undefined,
  reason: LossReason,
  heldMs: number,
): LockLostError {
  const span = statedMs < leaseMs ? `claim of ${statedMs} ms (claimMs)` : `lease of ${leaseMs} ms`;
  const why = {
    expired: `${renews ? 'no renewal got through before the end of its' : 'at the end of its fixed'} ${span}`,
    gone: 'the server says that it is not ours any more',
    revoked: `it was released by force${takenFor ? `: ${quote(takenFor)}` : ''}`,
    closed: 'this session was closed',
    abandoned: 'its lease was garbage-collected without a release',
  }[reason];
  const message = `${quoted(protocol)}: lost after ${Math.floor(heldMs)} ms, ${why}`;
  return new LockLostError(message, { lock: protocol.name, elapsedMs: heldMs, reason, fence });
}

/** A loss told to one more caller: a new error whose stack shows that caller, caused by the error that was told first. */
export function lossAgain(loss: LockLostError): LockLostError {
  const { message, lock, elapsedMs, reason, fence } = loss;
  return new LockLostError(message, { lock, elapsedMs, reason, fence, cause: loss });
}

/** A release without an answer. It is being repeated; the lease on the server is the last resort. */
export function releaseError(subject: Subject, servers: readonly ServerFailure[]): LockError {
  const said = describeServers(servers);
  if (servers.some(({ kind }) => kind === 'unknown')) {
    const message = `${quoted(subject)}: no answer to the release; it is being repeated (${said})`;
    return new LockUnknownError(message, { lock: subject.name });
  }
  const message = `${quoted(subject)}: could not be released yet; it is being repeated (${said})`;
  return new LockUnavailableError(message, { lock: subject.name, servers });
}
