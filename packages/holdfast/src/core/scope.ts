/**
 * Which locks the present call chain holds. `using` opens a scope around its body; whatever the body calls, also
 * across awaits and timers, finds it. Scopes are never entered any other way, so they always close.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Protocol } from '../topologies/topology.ts';
import type { Owner } from './owner.ts';
import type { Session } from './session.ts';

interface Scope {
  readonly session: Session;
  readonly owner: Owner;
  readonly outer: Scope | undefined;
}

const scopes = new AsyncLocalStorage<Scope>();

/** Runs the body as the owner. */
export function runAs<Result>(session: Session, owner: Owner, body: () => Result): Result {
  return scopes.run({ session, owner, outer: scopes.getStore() }, body);
}

/**
 * The innermost owner of that lock in this call chain, held or lost. A released one is skipped: its body has
 * ended, and what still runs (a promise nobody awaited) is on its own.
 */
export function ownerInScope(session: Session, protocol: Protocol): Owner | null {
  for (let scope = scopes.getStore(); scope !== undefined; scope = scope.outer) {
    if (scope.session !== session || scope.owner.state === 'released') continue;
    const { kind, key } = scope.owner.hold.protocol;
    if (kind === protocol.kind && key === protocol.key) return scope.owner;
  }
  return null;
}
