/**
 * Which locks the present call chain holds. `using` opens a scope around its body; whatever the body calls, also
 * across awaits and timers, finds the scope. Scopes are never entered any other way, so they always close. What
 * outlives a body (a timer that it set, a promise that nobody awaited) keeps its async context, and finds the scope
 * closed.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Protocol } from '../topologies/protocol.ts';
import type { Owner } from './owner.ts';

interface Scope {
  /** Null once the body has ended. */
  owner: Owner | null;
  outer: Scope | undefined;
}

const scopes = new AsyncLocalStorage<Scope>();

/** Runs the body as the owner. When the body has ended, by a result or an error, nobody is inside any more. */
export async function runAs<Result>(owner: Owner, body: () => Result | PromiseLike<Result>): Promise<Result> {
  const scope: Scope = { owner, outer: nearestOpen(scopes.getStore()) };
  try {
    return await scopes.run(scope, async () => body());
  } finally {
    scope.owner = null;
  }
}

/** Closed scopes are left out of every chain: a body that starts its own successor would make an endless chain. */
function nearestOpen(innermost: Scope | undefined): Scope | undefined {
  let scope = innermost;
  while (scope !== undefined && scope.owner === null) scope = scope.outer;
  return scope;
}

/** Whether the owner got that lock in that session. */
export function isOwnerOf({ hold }: Owner, session: object, protocol: Protocol): boolean {
  const { kind, key } = hold.protocol;
  return hold.keeper.session === session && kind === protocol.kind && key === protocol.key;
}

/**
 * The innermost owner of that lock in this call chain, held or lost. An owner that its body has released early is
 * skipped: what the body does from then on it does without this lock.
 */
export function ownerInScope(session: object, protocol: Protocol): Owner | null {
  for (let scope = nearestOpen(scopes.getStore()); scope !== undefined; scope = scope.outer) {
    const owner = scope.owner as Owner;
    if (owner.state !== 'released' && isOwnerOf(owner, session, protocol)) return owner;
    scope.outer = nearestOpen(scope.outer);
  }
  return null;
}
