/**
 * Keys of one slot that is moving: some are at the node that the slot leaves and some at the node that it goes to, and a
 * call that names both kinds is refused with TRYAGAIN. A lease must not be lost for that, so it is kept by calls that
 * name one key.
 */
import type { ServerFailure } from '../../errors.ts';
import type { Statement } from '../protocol.ts';
import type { StateResult } from '../topology.ts';

/** Whether some of the keys have moved and some have not. */
export function isTorn(results: readonly StateResult[]): boolean {
  return isTornRefusal(refusalOfAll(results));
}

export function isTornRefusal(refusal: ServerFailure | undefined): boolean {
  return refusal?.text.startsWith('TRYAGAIN') === true;
}

export function withOwnKeyOnly(statement: Statement): Statement {
  return { ...statement, isOwnKeyOnly: true };
}

/** The error that a server refused a whole batch with, if it did: a server serves all of a call or nothing. */
export function refusalOfAll(results: readonly StateResult[]): ServerFailure | undefined {
  const [first] = results;
  if (first?.is !== 'failed' || !results.every(({ is }) => is === 'failed')) return undefined;
  return first.servers[0];
}
