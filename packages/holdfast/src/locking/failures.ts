/** How an acquisition that did not succeed is told to its caller: one place for the words. */
import {
  type Holder,
  LockAbortedError,
  LockConfigError,
  LockConflictError,
  type LockError,
  LockLostError,
  LockTimeoutError,
  LockUnavailableError,
  LockUnknownError,
  type ServerFailure,
} from '../errors.ts';
import { inMs, printable, quote } from '../runtime/printable.ts';
import type { Protocol } from '../topologies/protocol.ts';
import type { AcquireResult } from '../topologies/topology.ts';
import { WAITERS_MAX } from './waiter-queue.ts';

type Conflict = Extract<AcquireResult, { is: 'conflict' }>;

export function quoted(protocol: Protocol): string {
  return `${protocol.kind} ${quote(protocol.name)}`;
}

/** Where in a script of ours an error reply arose, which Redis puts behind it. `servers` of the error keeps it. */
const SCRIPT_PLACE = / script: [0-9a-f]{40}, on @\w+:\d+\.$/;

export function describeServers(servers: readonly ServerFailure[]): string {
  const said = servers.map(({ server, kind, text }) => {
    return `${printable(server)}: ${kind}, ${printable(text.replace(SCRIPT_PLACE, ''))}`;
  });
  return said.join('; ');
}

function describeHolder({ owner, ttlMs }: Holder): string {
  const who = owner === undefined ? 'somebody else holds it' : `${printable(owner)} holds it`;
  return ttlMs < 0 ? `${who} without an expiry` : `${who} for ${inMs(ttlMs)} more unless renewed`;
}

function describeConflict({ policy }: Protocol, { found, isCounter }: Conflict): string {
  if (isCounter) return `the counter of its fences holds ${printable(found)}; it was left untouched`;
  return `the key holds something else (expected ${policy.expected}, got ${printable(found)}); it was left untouched`;
}

/** The error for a caller whose attempt, or whose whole wait, ended with this result. */
export function acquireError(
  protocol: Protocol,
  result: Exclude<AcquireResult, { is: 'granted' }> | null,
  elapsedMs: number,
): LockError {
  const took = inMs(elapsedMs);
  const details = { lock: protocol.name, elapsedMs };
  if (result === null) {
    const message = `${quoted(protocol)}: waited ${took} behind other callers of this process`;
    return new LockTimeoutError(message, details);
  }
  switch (result.is) {
    case 'held': {
      if (result.isSplit) {
        const message = `${quoted(protocol)}: waited ${took} and did not get it; the votes were split between several callers`;
        return new LockTimeoutError(message, details);
      }
      // Of a mutex it is the beginning of a secret.
      const holder = {
        owner: protocol.policy.isHolderSecret ? undefined : result.owner,
        ttlMs: result.ttlMs,
      };
      const message = `${quoted(protocol)}: waited ${took} and did not get it; ${describeHolder(holder)}`;
      return new LockTimeoutError(message, { ...details, holder });
    }
    case 'conflict': {
      return new LockConflictError(`${quoted(protocol)}: ${describeConflict(protocol, result)}`, details);
    }
    case 'failed': {
      const isUnknown = result.mayBeGranted && result.servers.some(({ kind }) => kind === 'unknown');
      if (!isUnknown) return unavailable(protocol, result.servers, details);
      const what = 'no answer; it may or may not have been granted, and is being released';
      const message = `${quoted(protocol)}: ${what} (after ${took}; ${describeServers(result.servers)})`;
      return new LockUnknownError(message, details);
    }
  }
}

function unavailable(
  protocol: Protocol,
  servers: readonly ServerFailure[],
  details: { lock: string; elapsedMs: number },
): LockUnavailableError {
  const who = servers.length > 1 ? 'too few servers served it' : 'the server did not serve it';
  const message = `${quoted(protocol)}: ${who} within ${inMs(details.elapsedMs)} (${describeServers(servers)})`;
  return new LockUnavailableError(message, { ...details, servers });
}

/** The caller's signal fired while it waited. */
export function abortError(protocol: Protocol, elapsedMs: number, signal: AbortSignal): LockError {
  const message = `${quoted(protocol)}: aborted after ${inMs(elapsedMs)} of waiting`;
  return new LockAbortedError(message, { lock: protocol.name, elapsedMs, cause: signal.reason });
}

/** A loss told to one more caller: an error of its own, whose stack shows that caller, over the one that was told first. */
export function lossAgain(loss: LockLostError): LockLostError {
  const { message, lock, elapsedMs, reason, fence } = loss;
  return new LockLostError(message, { lock, elapsedMs, reason, fence, cause: loss });
}

/** A mistake in the set-up that only an attempt can find, told to each caller in an error of its own. */
export function configErrorAgain(protocol: Protocol, error: LockConfigError): LockConfigError {
  return new LockConfigError(error.message, { lock: protocol.name, cause: error });
}

/** Too many callers wait already: the one that comes is turned away rather than piled up. */
export function crowdError(protocol: Protocol): LockError {
  const message = `${quoted(protocol)}: ${WAITERS_MAX} callers of this process wait for it already`;
  return new LockUnavailableError(message, { lock: protocol.name });
}

/** A release without an answer. It is being repeated; the lease on the server is the last resort. */
export function releaseError(protocol: Protocol, servers: readonly ServerFailure[]): LockError {
  const said = describeServers(servers);
  if (servers.some(({ kind }) => kind === 'unknown')) {
    const message = `${quoted(protocol)}: no answer to the release; it is being repeated (${said})`;
    return new LockUnknownError(message, { lock: protocol.name });
  }
  const message = `${quoted(protocol)}: could not be released yet; it is being repeated (${said})`;
  return new LockUnavailableError(message, { lock: protocol.name, servers });
}
